// Where a job is, the mover and the checker. Rules that can be broken are rows: a condition and the
// sentence that goes with it.

#include "model/job.h"

#include <assert.h>

struct rule {
    bool broken;
    const char *sentence;
};

static const char *first_broken(const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].broken)
            return rules[i].sentence;
    return NULL;
}

static const char *facts_problem(const struct job_facts *facts)
{
    bool live = facts->has_execution && execution_status_live(facts->newest);
    bool done = facts->has_execution && facts->newest == EXECUTION_DONE;
    bool aborted = facts->has_execution && facts->newest == EXECUTION_ABORTED;
    bool passed_commit = done || (live && facts->newest == EXECUTION_COMMITTED);
    bool held = facts->parked && facts->parked_as == PHASE_HELD;
    bool backoff = facts->parked && facts->parked_as == PHASE_BACKOFF;
    bool waits = facts->parked
        && (facts->parked_as == PHASE_DELAYED || facts->parked_as == PHASE_BLOCKED);
    bool succeeded = facts->ended && facts->outcome == JOB_SUCCEEDED;
    int places = facts->ready + facts->parked + live + facts->ended;

    const struct rule rules[] = {
        { places == 0, "it is nowhere: not waiting, held by no execution, not ended" },
        { places > 1, "it is in more than one place at once" },
        { facts->parked && !held && !backoff && !waits,
          "it is parked as something that does not wait" },
        { facts->ended && !job_state_final(facts->outcome),
          "it ended in a state that is not final" },
        { held && facts->has_execution, "it was never submitted and has executions" },
        { backoff && !aborted, "it waits for a retry and its newest execution is not ABORTED" },
        { (facts->ready || waits) && done, "it waits to run and its newest execution is DONE" },
        { facts->committed && !passed_commit,
          "its commit is on record and its newest execution is neither COMMITTED nor DONE" },
        { passed_commit && !facts->committed,
          "its newest execution is past COMMITTED and there is no commit on record" },
        { succeeded && !done, "it SUCCEEDED and its newest execution is not DONE" },
        { facts->ended && !succeeded && facts->committed, "it ended badly and has a commit" },
        { facts->ended && facts->outcome == JOB_TIMED_OUT && !facts->has_execution,
          "it TIMED_OUT and never had an execution" },
    };
    return first_broken(rules, countof(rules));
}

static enum job_phase live_phase(enum execution_status status)
{
    static const enum job_phase phases[] = {
        [EXECUTION_LEASED] = PHASE_LEASED,
        [EXECUTION_IN_PROGRESS] = PHASE_RUNNING,
        [EXECUTION_COMMITTED] = PHASE_FINISHING,
    };
    assert(status < countof(phases));
    return phases[status];
}

bool job_phase_of(const struct job_facts *facts, enum job_phase *phase, const char **problem)
{
    *problem = facts_problem(facts);
    if (*problem)
        return false;
    if (facts->ended)
        *phase = PHASE_ENDED;
    else if (facts->ready)
        *phase = PHASE_READY;
    else if (facts->parked)
        *phase = facts->parked_as;
    else
        *phase = live_phase(facts->newest);
    return true;
}

static bool ends_badly(enum job_state state)
{
    return state == JOB_FAILED || state == JOB_TIMED_OUT;
}

// JOB-11: what may end a job that never ran.
static bool ends_a_waiting_job(enum failure_type why)
{
    return why == FAILURE_CANCELLED || why == FAILURE_RESOURCE_EXHAUSTED
        || why == FAILURE_DEPENDENCY_FAILED;
}

static bool refuse(const struct job *job, enum job_state to, bool cancelled, struct pawl_error *err)
{
    char id[ID_TEXT + 1];
    id_format(job->id, id);
    const char *state = job_state_name(job->state);
    if (job_state_final(job->state))
        return fail(err, PAWL_TERMINAL, "job %s is %s, which is final: it cannot become %s", id,
                    state, job_state_name(to));

    SCOPED(arena) struct arena arena = {0};
    struct buf allowed = buf_new(&arena, sizeof(err->message));
    for (unsigned i = 0; i < JOB_STATES; i++)
        if (job_state_may(job->state, (enum job_state)i, cancelled))
            buf_addf(&allowed, "%s%s", allowed.n ? ", " : "", job_state_name((enum job_state)i));
    return fail(err, PAWL_CONFLICT, "job %s is %s: it cannot become %s%s; allowed: %.*s", id, state,
                job_state_name(to), cancelled ? " by cancellation" : "", STR(buf_str(&allowed)));
}

bool job_move(struct job *job, enum job_state to, enum failure_type why, struct pawl_error *err)
{
    bool cancelled = why == FAILURE_CANCELLED;
    if (!job_state_may(job->state, to, cancelled))
        return refuse(job, to, cancelled, err);
    assert(ends_badly(to) == (why != FAILURE_NONE));

    if (job->state == JOB_QUEUED && to == JOB_FAILED && !ends_a_waiting_job(why)) {
        char id[ID_TEXT + 1];
        id_format(job->id, id);
        return fail(err, PAWL_CONFLICT,
                    "job %s is QUEUED: it cannot become FAILED by %s; allowed: CANCELLED, "
                    "RESOURCE_EXHAUSTED, DEPENDENCY_FAILED",
                    id, failure_type_name(why));
    }
    job->state = to;
    if (why != FAILURE_NONE)
        job->failure_type = why;
    return true;
}

void job_must_move(struct job *job, enum job_state to, enum failure_type why)
{
    struct pawl_error err;
    bool moved = job_move(job, to, why, &err);
    assert(moved);
}

void job_bury(struct job *job)
{
    job->dead_in = job->queue;
    job->queue = DEADLETTER_QUEUE;
}

const char *job_problem(const struct job *job)
{
    enum job_state state = job->state;
    bool final = job_state_final(state), succeeded = state == JOB_SUCCEEDED;
    bool at_work = job->phase == PHASE_RUNNING || job->phase == PHASE_FINISHING;
    bool ran = state == JOB_RUNNING || state == JOB_RETRYING || succeeded || state == JOB_TIMED_OUT;
    int64_t attempts_max = job->contract.policy.max_attempts;

    const struct rule rules[] = {
        { final != (job->phase == PHASE_ENDED), "it is in a final state exactly when it ended" },
        { !final && state != job_phase_state(job->phase), "its state is not that of its place" },
        { job->attempt < 0 || job->attempts_used < 0 || job->retry_count < 0,
          "its counts are not negative" },
        { ran && job->attempt == 0, "it is past QUEUED and has no attempt" },
        { state == JOB_CREATED && job->attempt > 0, "it was never submitted and has attempts" },
        { job->attempts_used > job->attempt, "it used more attempts than it had" },
        { job->attempts_used > attempts_max, "it used more attempts than its policy allows" },
        { job->retry_count >= attempts_max, "it was retried more often than its policy allows" },
        { job->started_at != 0 && job->attempt == 0, "it has a start time and no attempt" },
        { job->started_at == 0 && (at_work || succeeded), "it started and has no start time" },
        { final != (job->completed_at != 0),
          "an end time belongs to final states and to no other" },
        { final && job->completed_at < job->created_at, "it ended before it was created" },
        { succeeded && (job->last_error.n || job->error_class != ERROR_NONE),
          "it SUCCEEDED and still has an error" },
        { ends_badly(state) != (job->failure_type != FAILURE_NONE),
          "a failure type belongs to FAILED and TIMED_OUT and to nothing else" },
        { job->dead_letter.n && !ends_badly(state),
          "only FAILED and TIMED_OUT jobs are dead letters" },
        { job->dead_letter.n && job->failure_type == FAILURE_CANCELLED,
          "a cancelled job is no dead letter" },
        { job->priority < PRIORITY_MIN || job->priority > PRIORITY_MAX,
          "its priority is out of range" },
        { job->cancel_requested_at && state != JOB_RUNNING && !final,
          "a cancellation is requested of running jobs only" },
    };
    return first_broken(rules, countof(rules));
}
