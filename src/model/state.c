// Both machines as tables; everything else here is a look-up.
#include "model/state.h"

#include <assert.h>

#define TO(state) (1u << JOB_##state)

static const struct {
    const char *name;
    const char *coarse;
    unsigned next;               // by work
    unsigned next_if_cancelled;  // by cancellation
    bool final;
} job_states[] = {
    [JOB_CREATED] = { "CREATED", "PENDING", TO(QUEUED), TO(FAILED), false },
    [JOB_QUEUED] = { "QUEUED", "PENDING", TO(RUNNING) | TO(FAILED), TO(FAILED), false },
    [JOB_RUNNING] = { "RUNNING", "RUNNING",
                      TO(SUCCEEDED) | TO(FAILED) | TO(RETRYING) | TO(TIMED_OUT), TO(FAILED),
                      false },
    [JOB_RETRYING] = { "RETRYING", "PENDING", TO(QUEUED), TO(FAILED), false },
    [JOB_SUCCEEDED] = { "SUCCEEDED", "SUCCEEDED", 0, 0, true },
    [JOB_FAILED] = { "FAILED", "FAILED", 0, 0, true },
    [JOB_TIMED_OUT] = { "TIMED_OUT", "FAILED", 0, 0, true },
};
_Static_assert(countof(job_states) == JOB_STATES, "one row per state");

#undef TO
#define TO(status) (1u << EXECUTION_##status)

static const struct {
    const char *name;
    unsigned next;
} execution_statuses[] = {
    [EXECUTION_LEASED] = { "LEASED", TO(IN_PROGRESS) | TO(ABORTED) },
    [EXECUTION_IN_PROGRESS] = { "IN_PROGRESS", TO(COMMITTED) | TO(ABORTED) },
    [EXECUTION_COMMITTED] = { "COMMITTED", TO(DONE) },
    [EXECUTION_DONE] = { "DONE", 0 },
    [EXECUTION_ABORTED] = { "ABORTED", 0 },
};
_Static_assert(countof(execution_statuses) == EXECUTION_STATUSES, "one row per status");

static const struct {
    const char *name;
    enum job_state state;
} phases[] = {
    [PHASE_HELD] = { "held", JOB_CREATED },       [PHASE_DELAYED] = { "delayed", JOB_QUEUED },
    [PHASE_READY] = { "ready", JOB_QUEUED },      [PHASE_BLOCKED] = { "blocked", JOB_QUEUED },
    [PHASE_LEASED] = { "leased", JOB_RUNNING },   [PHASE_RUNNING] = { "running", JOB_RUNNING },
    [PHASE_FINISHING] = { "finishing", JOB_RUNNING }, [PHASE_BACKOFF] = { "backoff", JOB_RETRYING },
    [PHASE_ENDED] = { "ended", JOB_SUCCEEDED },
};
_Static_assert(countof(phases) == JOB_PHASES, "one row per phase");

// clang-format off
#define NAMED(type, what, table, limit)                                             \
    const char *what##_name(enum type value)                                        \
    {                                                                               \
        assert(value < limit);                                                      \
        return table[value].name;                                                   \
    }                                                                               \
    bool what##_parse(struct str name, enum type *value)                            \
    {                                                                               \
        for (unsigned i = 0; i < limit; i++)                                        \
            if (str_eq(name, str_of(table[i].name)))                                \
                return *value = (enum type)i, true;                                 \
        return false;                                                               \
    }
NAMED(job_state, job_state, job_states, JOB_STATES)
NAMED(job_phase, job_phase, phases, JOB_PHASES)
NAMED(execution_status, execution_status, execution_statuses, EXECUTION_STATUSES)
// clang-format on

const char *job_coarse_state_name(enum job_state state)
{
    assert(state < JOB_STATES);
    return job_states[state].coarse;
}

bool job_state_final(enum job_state state)
{
    assert(state < JOB_STATES);
    return job_states[state].final;
}

bool execution_status_final(enum execution_status status)
{
    assert(status < EXECUTION_STATUSES);
    return execution_statuses[status].next == 0;
}

bool execution_status_live(enum execution_status status)
{
    return !execution_status_final(status);
}

bool job_state_may(enum job_state from, enum job_state to, bool cancelled)
{
    assert(from < JOB_STATES && to < JOB_STATES);
    unsigned next = cancelled ? job_states[from].next_if_cancelled : job_states[from].next;
    return (next & (1u << to)) != 0;
}

bool execution_status_may(enum execution_status from, enum execution_status to)
{
    assert(from < EXECUTION_STATUSES && to < EXECUTION_STATUSES);
    return (execution_statuses[from].next & (1u << to)) != 0;
}

enum job_state job_phase_state(enum job_phase phase)
{
    assert(phase < JOB_PHASES);
    return phases[phase].state;
}
