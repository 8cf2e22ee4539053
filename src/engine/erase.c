// The one place that overwrites what is otherwise written once: the row in `erasures` lets it, for
// the length of the transaction.
#include "engine/erase.h"

#include "engine/event.h"
#include "engine/job.h"

bool job_erased(const struct job *job)
{
    return str_eq(job->contract.payload, ERASED_PAYLOAD);
}

static bool overwrite_parts(struct tx *tx, int64_t job, struct pawl_error *err)
{
    static const enum query texts[] = {
        Q_ERASE_OUTCOME, Q_ERASE_EXECUTIONS, Q_ERASE_STEPS, Q_ERASE_SLOT,
    };
    for (size_t i = 0; i < countof(texts); i++)
        if (!sql_run(tx, texts[i], err, INT(job), TEXT(ERASED_TEXT)))
            return false;
    return sql_run(tx, Q_ERASE_PAYLOAD, err, INT(job), TEXT(ERASED_PAYLOAD))
        && sql_run(tx, Q_ERASE_LOGS, err, INT(job));
}

bool job_erase(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    if (!job_load(tx, id, job, err))
        return false;
    if (!job_state_final(job->state))
        return fail(err, PAWL_CONFLICT, "job %.*s is %s: only one that has ended can be erased; "
                                        "cancel it first",
                    STR(id_text(tx->arena, id)), job_state_name(job->state));
    if (job_erased(job))
        return true;
    return tx_overwrite(tx, err)
        && sql_run(tx, Q_ERASURE_BEGIN, err, INT(id.high), INT(job->keys.org), INT(tx->now))
        && overwrite_parts(tx, id.high, err) && sql_run(tx, Q_ERASURE_END, err, INT(id.high))
        && event_append(tx, job_subject(job), EVENT_JOB_ERASED, S(""), err)
        && job_load(tx, id, job, err);
}
