// One insert and one event; two when the job becomes a dead letter.
#include "engine/outcome.h"

#include <assert.h>

#include "engine/links.h"
#include "engine/slot.h"

bool outcome_fail(struct tx *tx, const struct ending *ending, struct pawl_error *err)
{
    assert(ending->state == JOB_FAILED || ending->state == JOB_TIMED_OUT);
    assert(ending->type != FAILURE_NONE);
    bool cancelled = ending->type == FAILURE_CANCELLED;
    struct subject subject = ending->subject;
    subject.ended_as = ending->state;
    struct str type = str_of(failure_type_name(ending->type));
    struct str detail = str_format(tx->arena,
                                   "{\"state\":\"%s\",\"failure_type\":\"%.*s\"%s%.*s%s}",
                                   job_state_name(ending->state), STR(type),
                                   ending->error_class.n ? ",\"error_class\":\"" : "",
                                   STR(ending->error_class), ending->error_class.n ? "\"" : "");
    return sql_run(tx, Q_OUTCOME_FAIL, err, INT(ending->subject.job), INT(ending->subject.org),
                   INT_OR_NONE(ending->execution), INT(tx->now),
                   TEXT(str_of(job_state_name(ending->state))), TEXT(type),
                   TEXT_OR_NONE(ending->message), ending->dead_letter ? TEXT(S("open")) : NONE)
        && event_append(tx, subject, cancelled ? EVENT_JOB_CANCELLED : EVENT_JOB_FAILED,
                        detail, err)
        && (!ending->dead_letter
            || event_append(tx, subject, EVENT_JOB_DEADLETTERED, detail, err))
        && slot_failed(tx, ending, err)
        && links_ended(tx, ending->subject.job, ending->state, err);
}
