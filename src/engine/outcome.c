// One insert and one event; two when the job becomes a dead letter.
#include "engine/outcome.h"

#include <assert.h>

#include "engine/alert.h"
#include "engine/links.h"
#include "engine/slot.h"
#include "store/names.h"

// What somebody must be told of it. A scheduled job has no dead letter by its policy: nobody would
// notice that it did not do its work.
static bool alert(struct tx *tx, const struct ending *ending, struct subject *subject,
                  struct pawl_error *err)
{
    bool slot = false;
    if (ending->type == FAILURE_CANCELLED)
        return true;
    if (ending->dead_letter)
        return alert_raise(tx, subject, ALERT_DEAD_LETTER, err);
    // defensive: the policy came with the job, and is remembered
    if (!policy_is_slot(tx, ending->policy, &slot, err))
        return false;
    return !slot || alert_raise(tx, subject, ALERT_SCHEDULED_FAILED, err);
}

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
    struct subject told = subject;  // once, with the first of its events
    return alert(tx, ending, &told, err)
        && sql_run(tx, Q_OUTCOME_FAIL, err, INT(ending->subject.job), INT(ending->subject.org),
                   INT_OR_NONE(ending->execution), INT(tx->now),
                   TEXT(str_of(job_state_name(ending->state))), TEXT(type),
                   TEXT_OR_NONE(ending->message), ending->dead_letter ? TEXT(S("open")) : NONE)
        && event_append(tx, told, cancelled ? EVENT_JOB_CANCELLED : EVENT_JOB_FAILED,
                        detail, err)
        && (!ending->dead_letter
            || event_append(tx, subject, EVENT_JOB_DEADLETTERED, detail, err))
        && slot_failed(tx, ending, err)
        && links_ended(tx, ending->subject.job, ending->state, err);
}
