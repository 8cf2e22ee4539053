// Why a job waits for others: the oldest of them first, and at most as many as people read.
#include "engine/explain_part.h"
#include "engine/job.h"
#include "engine/links.h"

enum { NAMED_MAX = 8 };

// The ids of those that the caller may see.
static bool name_all(struct explaining *x, const struct keys *keys, struct str *names,
                     struct pawl_error *err)
{
    struct buf out = buf_new(x->tx->arena, SIZE_MAX);
    for (size_t i = 0; i < keys->count; i++) {
        struct job job;
        const char *problem = NULL;
        if (!job_examine(x->tx, keys->at[i], &job, &problem, err))
            return false;
        if (caller_sees(x->tx->caller, job.contract.project_id))
            buf_addf(&out, "%s%.*s", out.n ? ", " : "", STR(id_text(x->tx->arena, job.id)));
    }
    if (x->job->waits_for > (int64_t)keys->count)
        buf_addf(&out, ", ...");
    *names = buf_str(&out);
    return true;
}

static void tell_first(struct explaining *x, const struct job *first, const char *problem)
{
    explain_related(x, first->id);
    explain_times(x, problem ? first->created_at : first->updated_at, 0);
    x->facts.at[FACT_STATE] = problem ? S("damaged")
                                      : str_format(x->tx->arena, "%s (%s)",
                                                   job_state_name(first->state),
                                                   job_phase_name(first->phase));
}

bool explain_links(struct explaining *x, struct pawl_error *err)
{
    struct keys keys;
    struct job first;
    const char *problem = NULL;
    if (!links_awaited(x->tx, x->job->id.high, NAMED_MAX, &keys, err))
        return false;
    if (keys.count == 0)
        return fail(err, PAWL_DAMAGED, "it waits for other jobs, and there is none");
    if (!job_examine(x->tx, keys.at[0], &first, &problem, err))
        return false;
    x->facts.at[FACT_COUNT] = str_format(x->tx->arena, "%lld job%s", (long long)x->job->waits_for,
                                         x->job->waits_for == 1 ? "" : "s");
    if (!caller_sees(x->tx->caller, first.contract.project_id)) {
        explain_say(x, CAUSE_WAITS_UNSEEN);
        return true;
    }
    tell_first(x, &first, problem);
    if (!name_all(x, &keys, &x->facts.at[FACT_WORD], err))
        return false;
    explain_say(x, x->job->waits_for == 1 ? CAUSE_WAITS_FOR_JOB : CAUSE_WAITS_FOR_JOBS);
    return true;
}
