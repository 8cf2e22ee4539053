// The model against lists written anew from the requirements: edges, policies, verdicts, places.

#include "test.h"

#include <string.h>

#include "model/execution.h"
#include "model/job.h"
#include "model/verdict.h"

#define NOW ((pawl_time)1787392800000000)

// JOB-1 as it is written. `cancelled`: allowed to a cancellation; `worked`: to anything else.
static const struct {
    const char *from, *to;
    bool worked, cancelled;
} job_edges[] = {
    { "CREATED", "QUEUED", true, false },    { "QUEUED", "RUNNING", true, false },
    { "RUNNING", "SUCCEEDED", true, false }, { "RUNNING", "FAILED", true, true },
    { "RUNNING", "RETRYING", true, false },  { "RETRYING", "QUEUED", true, false },
    { "QUEUED", "FAILED", true, true },      { "RUNNING", "TIMED_OUT", true, false },
    { "CREATED", "FAILED", false, true },    { "RETRYING", "FAILED", false, true },
};

static bool job_edge(enum job_state from, enum job_state to, bool cancelled)
{
    for (size_t i = 0; i < countof(job_edges); i++)
        if (strcmp(job_edges[i].from, job_state_name(from)) == 0
            && strcmp(job_edges[i].to, job_state_name(to)) == 0)
            return cancelled ? job_edges[i].cancelled : job_edges[i].worked;
    return false;
}

static bool bad_end(enum job_state state)
{
    return state == JOB_FAILED || state == JOB_TIMED_OUT;
}

// A reason that fits the move when it is no cancellation.
static enum failure_type reason_for(enum job_state from, enum job_state to)
{
    if (!bad_end(to))
        return FAILURE_NONE;
    return from == JOB_QUEUED ? FAILURE_RESOURCE_EXHAUSTED : FAILURE_TIMEOUT;
}

static struct str shown(const struct job *job)
{
    SCOPED(json) json_t *object = job_json(test_arena(), job);
    return json_text(test_arena(), object);
}

TEST(JOB_1_only_the_listed_transitions_are_allowed)
{
    int allowed = 0;
    for (unsigned from = 0; from < JOB_STATES; from++)
        for (unsigned to = 0; to < JOB_STATES; to++)
            for (int cancelled = 0; cancelled < 2; cancelled++) {
                bool listed = job_edge(from, to, cancelled);
                EXPECT_INT(job_state_may(from, to, cancelled), listed);
                allowed += listed;
            }
    EXPECT_INT(allowed, 12);
}

TEST(JOB_1_the_mover_moves_along_listed_transitions_and_refuses_all_others)
{
    for (unsigned from = 0; from < JOB_STATES; from++)
        for (unsigned to = 0; to < JOB_STATES; to++)
            for (int cancelled = 0; cancelled < 2; cancelled++) {
                struct pawl_error err;
                struct job job = { .id = { 1, 2 }, .state = from }, before = job;
                enum failure_type why = cancelled ? FAILURE_CANCELLED : reason_for(from, to);
                bool moved = job_move(&job, to, why, &err);
                EXPECT_INT(moved, job_edge(from, to, cancelled));
                EXPECT_INT(job.state, moved ? to : from);
                EXPECT_INT(job.failure_type, moved && bad_end(to) ? why : FAILURE_NONE);
                before.state = job.state;
                before.failure_type = job.failure_type;
                expect_str(shown(&job), shown(&before), PLACE("nothing else changed"));
            }
}

TEST(JOB_1_a_refusal_names_the_job_its_state_and_what_is_allowed)
{
    struct pawl_error err;
    struct job job = { .id = { 7 << 12, 7 }, .state = JOB_QUEUED };
    struct str id = id_text(test_arena(), job.id);
    EXPECT_REFUSED(PAWL_CONFLICT, job_move(&job, JOB_SUCCEEDED, FAILURE_NONE, &err));
    struct str sentence = str_format(
        test_arena(),
        "job %s is QUEUED: it cannot become SUCCEEDED; allowed: RUNNING, FAILED", id.s);
    expect_str(str_of(err.message), sentence, PLACE("conflict"));

    job.state = JOB_FAILED;
    EXPECT_REFUSED(PAWL_TERMINAL, job_move(&job, JOB_QUEUED, FAILURE_NONE, &err));
    sentence = str_format(
        test_arena(), "job %s is FAILED, which is final: it cannot become QUEUED", id.s);
    expect_str(str_of(err.message), sentence, PLACE("terminal"));
}

TEST(JOB_2_terminal_states_are_final)
{
    static const enum job_state final[] = { JOB_SUCCEEDED, JOB_FAILED, JOB_TIMED_OUT };
    for (size_t i = 0; i < countof(final); i++) {
        EXPECT(job_state_final(final[i]));
        for (unsigned to = 0; to < JOB_STATES; to++)
            for (unsigned why = 0; why < FAILURE_TYPES; why++) {
                struct pawl_error err;
                struct job job = { .state = final[i] };
                EXPECT_REFUSED(PAWL_TERMINAL, job_move(&job, to, why, &err));
                EXPECT_INT(job.state, final[i]);
            }
    }
    EXPECT(!job_state_final(JOB_CREATED) && !job_state_final(JOB_QUEUED));
    EXPECT(!job_state_final(JOB_RUNNING) && !job_state_final(JOB_RETRYING));
}

TEST(JOB_11_a_queued_job_ends_only_for_reasons_that_need_no_run)
{
    for (unsigned why = FAILURE_NONE + 1; why < FAILURE_TYPES; why++) {
        struct pawl_error err;
        struct job job = { .state = JOB_QUEUED };
        bool allowed = why == FAILURE_CANCELLED || why == FAILURE_RESOURCE_EXHAUSTED
            || why == FAILURE_DEPENDENCY_FAILED;
        EXPECT_INT(job_move(&job, JOB_FAILED, why, &err), allowed);
        EXPECT_INT(job.failure_type, allowed ? why : FAILURE_NONE);
        if (!allowed)
            EXPECT_INT(err.code, PAWL_CONFLICT);
    }
}

TEST(EXEC_2_only_the_listed_transitions_are_allowed)
{
    static const char *const edges[][2] = {
        { "LEASED", "IN_PROGRESS" }, { "IN_PROGRESS", "COMMITTED" }, { "COMMITTED", "DONE" },
        { "LEASED", "ABORTED" },     { "IN_PROGRESS", "ABORTED" },
    };
    for (unsigned from = 0; from < EXECUTION_STATUSES; from++)
        for (unsigned to = 0; to < EXECUTION_STATUSES; to++) {
            bool listed = false;
            for (size_t i = 0; i < countof(edges); i++)
                listed |= strcmp(edges[i][0], execution_status_name(from)) == 0
                    && strcmp(edges[i][1], execution_status_name(to)) == 0;
            struct execution execution = { .status = from };
            EXPECT_INT(execution_status_may(from, to), listed);
            if (listed)
                execution_move(&execution, to);
            EXPECT_INT(execution.status, listed ? to : from);
        }
}

TEST(EXEC_2_done_and_aborted_are_final)
{
    for (unsigned status = 0; status < EXECUTION_STATUSES; status++) {
        bool final = status == EXECUTION_DONE || status == EXECUTION_ABORTED;
        EXPECT_INT(execution_status_final(status), final);
        EXPECT_INT(execution_status_live(status), !final);
    }
}

// The table of built-in policies, as the requirements print it.
enum { NO, YES };
// clang-format off
static const struct {
    const char *name, *category, *queue;
    int attempts, base_s, max_s, timeout_s;
    bool exponential, retries, dead_letter;  // retries: on_crash and on_timeout
    int ttl_days;
} expected_policies[] = {
    { "document",     "default",      "q:default",        1, 0,    0,  120, NO,  NO,  NO,   7 },
    { "lifecycle",    "default",      "q:default",        4, 1,    1,  600, NO,  YES, NO,   7 },
    { "scheduled",    "maintenance",  "q:maintenance",    1, 0,    0,  600, NO,  NO,  NO,   7 },
    { "default",      "default",      "q:default",        5, 5,  300,  600, YES, YES, YES,  7 },
    { "critical",     "critical",     "q:critical",       5, 5,  300,  600, YES, YES, YES,  7 },
    { "audit",        "audit",        "q:default",        5, 5,  300,  600, YES, YES, YES,  7 },
    { "notification", "notification", "q:notifications", 10, 5, 1800,   60, YES, YES, YES,  7 },
    { "planning",     "planning",     "q:planning",       3, 5,  120, 1800, YES, YES, YES, 30 },
    { "transfer",     "transfer",     "q:exports",        5, 5,  600, 3600, YES, YES, YES, 30 },
    { "maintenance",  "maintenance",  "q:maintenance",    5, 5,  300, 3600, YES, YES, YES,  7 },
};
// clang-format on

static const struct policy *must_policy(const char *name)
{
    const struct policy *policy = policy_builtin(str_of(name));
    expect(policy != NULL, PLACE(name));
    return policy;
}

TEST(OPS_6_the_built_in_policies_are_those_of_the_table)
{
    for (size_t i = 0; i < countof(expected_policies); i++) {
        const struct policy *p = must_policy(expected_policies[i].name);
        bool retries = expected_policies[i].retries;
        expect_str(p->category, str_of(expected_policies[i].category), PLACE("category"));
        expect_str(p->queue, str_of(expected_policies[i].queue), PLACE("queue"));
        EXPECT_INT(p->max_attempts, expected_policies[i].attempts);
        EXPECT_INT(p->base_us, SECONDS(expected_policies[i].base_s));
        EXPECT_INT(p->delay_us_max, SECONDS(expected_policies[i].max_s));
        EXPECT_INT(p->timeout_us, SECONDS(expected_policies[i].timeout_s));
        EXPECT_INT(p->exponential, expected_policies[i].exponential);
        EXPECT_INT(p->jitter, expected_policies[i].exponential);
        EXPECT_INT(p->on_crash, retries ? ON_CRASH_RETRY : ON_CRASH_FAIL);
        EXPECT_INT(p->on_timeout, retries ? ON_TIMEOUT_RETRY : ON_TIMEOUT_TIMED_OUT);
        EXPECT_INT(p->dead_letter, expected_policies[i].dead_letter);
        EXPECT_INT(p->key_ttl_us, DAYS(expected_policies[i].ttl_days));
        EXPECT_INT(p->lease_us, SECONDS(30));
        EXPECT_INT(p->step_attempts, 2);
    }
    EXPECT(policy_builtin_at(countof(expected_policies) - 1) != NULL);
    EXPECT(policy_builtin_at(countof(expected_policies)) == NULL);
    EXPECT(policy_builtin(S("nope")) == NULL && policy_builtin(S("")) == NULL);
}

TEST(OPS_6_every_built_in_policy_passes_its_own_check)
{
    for (size_t i = 0; policy_builtin_at(i); i++) {
        struct problems problems = { .arena = test_arena() };
        policy_check(policy_builtin_at(i), &problems);
        EXPECT_INT(problems.count, 0);
    }
}

// Dice that are neither random nor regular.
static uint64_t dice_of(uint64_t i)
{
    i = (i + 1) * 0x9e3779b97f4a7c15;
    return i ^ (i >> 31);
}

TEST(OPS_6_delays_double_up_to_the_maximum_and_jitter_stays_in_the_upper_half)
{
    static const int64_t seconds[] = { 5, 10, 20, 40, 80, 160, 300, 300, 300 };
    const struct policy *policy = must_policy("default");
    for (size_t n = 0; n < countof(seconds); n++) {
        int64_t delay = SECONDS(seconds[n]), lowest = INT64_MAX, highest = 0;
        for (uint64_t i = 0; i < 10000; i++) {
            int64_t rolled = policy_delay(policy, (int64_t)n + 1, dice_of(i));
            lowest = rolled < lowest ? rolled : lowest;
            highest = rolled > highest ? rolled : highest;
        }
        EXPECT(lowest >= delay / 2 && highest <= delay);
        EXPECT(lowest < delay / 2 + delay / 100 && highest > delay - delay / 100);
        EXPECT_INT(policy_delay(policy, (int64_t)n + 1, 0), delay / 2);
        EXPECT_INT(policy_delay(policy, (int64_t)n + 1, (uint64_t)(delay - delay / 2)), delay);
    }
    EXPECT(policy_delay(policy, INT64_MAX, UINT64_MAX) <= SECONDS(300));
}

static struct verdict judge(const char *policy, struct failure failure, struct tally tally)
{
    return verdict(&failure, must_policy(policy), &tally, NOW, 0);
}

static struct verdict judge_error(const char *policy, enum error_class class, int64_t attempt)
{
    return judge(policy, (struct failure){ .reason = END_ERROR, .class = class },
                 (struct tally){ .attempts_used = attempt, .retry_count = attempt - 1 });
}

static void expect_end(struct verdict v, enum job_state state, enum failure_type type, bool dead)
{
    EXPECT_INT(v.state, state);
    EXPECT_INT(v.type, type);
    EXPECT_INT(v.dead_letter, dead);
    EXPECT(!v.at_once && v.run_at == 0);
}

static void expect_retry(struct verdict v, pawl_time run_at)
{
    EXPECT_INT(v.state, JOB_RETRYING);
    EXPECT_INT(v.type, FAILURE_NONE);
    EXPECT_INT(v.run_at, run_at);
    EXPECT(!v.at_once && !v.dead_letter);
}

// The two lists of the interface.
static const char *const terminal_classes[] = {
    "invalid_input", "validation",     "authorization",     "business_rule",
    "configuration", "resource_limit", "timeout_permanent", "cancelled",
};
static const char *const retryable_classes[] = {
    "transient", "timeout", "overload", "dependency", "rate_limited", "crash",
};

static enum error_class must_class(const char *name)
{
    enum error_class class = ERROR_NONE;
    expect(error_class_parse(str_of(name), &class), PLACE(name));
    return class;
}

TEST(JOB_3_failures_are_retryable_or_terminal_by_their_class)
{
    for (size_t i = 0; i < countof(terminal_classes); i++)
        EXPECT(!error_class_retryable(must_class(terminal_classes[i])));
    for (size_t i = 0; i < countof(retryable_classes); i++)
        EXPECT(error_class_retryable(must_class(retryable_classes[i])));
    EXPECT_INT(ERROR_CLASSES, 1 + countof(terminal_classes) + countof(retryable_classes));
}

TEST(JOB_4_the_fourth_transient_failure_of_a_lifecycle_job_is_final)
{
    for (int attempt = 1; attempt <= 3; attempt++)
        expect_retry(judge_error("lifecycle", ERROR_TRANSIENT, attempt), NOW + SECONDS(1));
    expect_end(judge_error("lifecycle", ERROR_TRANSIENT, 4), JOB_FAILED,
               FAILURE_ATTEMPTS_EXHAUSTED, false);
}

TEST(OPS_7_terminal_errors_end_a_job_and_others_are_retried)
{
    for (size_t i = 0; i < countof(terminal_classes); i++) {
        enum error_class class = must_class(terminal_classes[i]);
        bool cancelled = class == ERROR_CANCELLED;
        expect_end(judge_error("default", class, 1), JOB_FAILED,
                   cancelled ? FAILURE_CANCELLED : FAILURE_HANDLER_ERROR, !cancelled);
    }
    for (size_t i = 0; i < countof(retryable_classes); i++)
        expect_retry(judge_error("default", must_class(retryable_classes[i]), 1),
                     NOW + MILLISECONDS(2500));
}

TEST(OPS_7_retry_after_is_a_lower_bound_of_at_most_24_hours)
{
    struct failure failure = { .reason = END_ERROR, .class = ERROR_RATE_LIMITED };
    struct tally first = { .attempts_used = 1 };
    failure.retry_after_us = SECONDS(1);  // less than the back-off: it does not shorten it
    expect_retry(judge("default", failure, first), NOW + MILLISECONDS(2500));
    failure.retry_after_us = HOURS(1);
    expect_retry(judge("default", failure, first), NOW + HOURS(1));
    failure.retry_after_us = HOURS(24);
    expect_retry(judge("default", failure, first), NOW + HOURS(24));
    failure.retry_after_us = INT64_MAX;
    expect_retry(judge("default", failure, first), NOW + HOURS(24));
}

TEST(OPS_8_an_end_is_a_dead_letter_where_the_policy_has_them)
{
    for (size_t i = 0; i < countof(expected_policies); i++)
        EXPECT_INT(judge_error(expected_policies[i].name, ERROR_VALIDATION, 1).dead_letter,
                   expected_policies[i].dead_letter);
}

TEST(RUN_5_a_crash_ends_a_document_run_at_once)
{
    struct tally first = { .attempts_used = 1, .crash_count = 1 };
    expect_end(judge("document", (struct failure){ .reason = END_PROCESS_TERMINATED }, first),
               JOB_FAILED, FAILURE_PROCESS_TERMINATED, false);
    expect_end(judge("document", (struct failure){ .reason = END_LEASE_EXPIRED }, first),
               JOB_FAILED, FAILURE_LEASE_EXPIRED, false);
}

TEST(RUN_7_a_timeout_is_an_end_or_a_retry_by_policy)
{
    struct failure timeout = { .reason = END_TIMEOUT };
    struct tally first = { .attempts_used = 1 }, fifth = { .attempts_used = 5, .retry_count = 4 };
    expect_end(judge("document", timeout, first), JOB_TIMED_OUT, FAILURE_TIMEOUT, false);
    expect_retry(judge("default", timeout, first), NOW + MILLISECONDS(2500));
    expect_end(judge("default", timeout, fifth), JOB_FAILED, FAILURE_ATTEMPTS_EXHAUSTED, true);
    struct policy strict = *must_policy("default");
    strict.on_timeout = ON_TIMEOUT_FAIL;
    expect_end(verdict(&timeout, &strict, &first, NOW, 0), JOB_FAILED, FAILURE_TIMEOUT, true);
}

TEST(EXEC_4_three_crashes_in_a_row_end_a_job_whatever_its_attempts)
{
    struct failure expired = { .reason = END_LEASE_EXPIRED };
    struct tally tally = { .attempts_used = 2, .retry_count = 1, .crash_count = 2 };
    expect_retry(judge("notification", expired, tally), NOW + SECONDS(5));
    tally = (struct tally){ .attempts_used = 3, .retry_count = 2, .crash_count = 3 };
    expect_end(judge("notification", expired, tally), JOB_FAILED, FAILURE_LEASE_EXPIRED, true);
    expired.reason = END_PROCESS_TERMINATED;
    expect_end(judge("notification", expired, tally), JOB_FAILED, FAILURE_PROCESS_TERMINATED, true);
}

TEST(JOB_8_a_requested_cancellation_wins_over_every_other_end)
{
    for (size_t i = 0; policy_builtin_at(i); i++)
        for (unsigned reason = END_ERROR; reason < END_REASONS; reason++)
            for (unsigned error = 0; error < ERROR_CLASSES; error++) {
                struct failure failure = {
                    .reason = reason,
                    .class = error,
                    .retry_after_us = HOURS(1),
                    .cancel_requested = true,
                };
                struct tally tally = { .attempts_used = 1, .crash_count = 3 };
                expect_end(verdict(&failure, policy_builtin_at(i), &tally, NOW, 7), JOB_FAILED,
                           FAILURE_CANCELLED, false);
            }
}

TEST(JOB_4_a_released_execution_burns_nothing_and_goes_back_at_once)
{
    for (size_t i = 0; policy_builtin_at(i); i++) {
        struct failure failure = { .reason = END_RELEASED };
        struct tally tally = { .attempts_used = 1000, .retry_count = 999, .crash_count = 2 };
        struct verdict v = verdict(&failure, policy_builtin_at(i), &tally, NOW, 7);
        EXPECT_INT(v.state, JOB_RETRYING);
        EXPECT_INT(v.run_at, NOW);
        EXPECT(v.at_once && !v.dead_letter && v.type == FAILURE_NONE);
    }
}

TEST(EXEC_8_each_place_has_its_state_and_each_state_its_coarse_name)
{
    static const char *const places[][2] = {
        { "held", "CREATED" },    { "delayed", "QUEUED" },  { "ready", "QUEUED" },
        { "blocked", "QUEUED" },  { "leased", "RUNNING" },  { "running", "RUNNING" },
        { "finishing", "RUNNING" }, { "backoff", "RETRYING" },
    };
    static const char *const coarse[][2] = {
        { "CREATED", "PENDING" },  { "QUEUED", "PENDING" },      { "RETRYING", "PENDING" },
        { "RUNNING", "RUNNING" },  { "SUCCEEDED", "SUCCEEDED" }, { "FAILED", "FAILED" },
        { "TIMED_OUT", "FAILED" },
    };
    enum job_phase phase;
    enum job_state state;
    for (size_t i = 0; i < countof(places); i++) {
        EXPECT(job_phase_parse(str_of(places[i][0]), &phase));
        expect_str(str_of(job_state_name(job_phase_state(phase))), str_of(places[i][1]),
                   PLACE(places[i][0]));
    }
    for (size_t i = 0; i < countof(coarse); i++) {
        EXPECT(job_state_parse(str_of(coarse[i][0]), &state));
        expect_str(str_of(job_coarse_state_name(state)), str_of(coarse[i][1]),
                   PLACE(coarse[i][0]));
    }
    EXPECT_INT(countof(places), JOB_PHASES - 1);
    EXPECT_INT(countof(coarse), JOB_STATES);
}

// Every set of records that makes sense, as a list; everything else contradicts itself.
enum newest {
    LEASED = 1 << EXECUTION_LEASED,
    IN_PROGRESS = 1 << EXECUTION_IN_PROGRESS,
    COMMITTED = 1 << EXECUTION_COMMITTED,
    DONE = 1 << EXECUTION_DONE,
    ABORTED = 1 << EXECUTION_ABORTED,
    NO_RUN = 1 << EXECUTION_STATUSES,
};
enum place_kind { IN_READY, IN_PARKED, IN_EXECUTION, IN_OUTCOME };

static const struct {
    enum job_phase phase;
    enum place_kind place;
    unsigned newest;  // any of these
    bool committed;
    enum job_state outcome;
} sensible[] = {
    { PHASE_HELD, IN_PARKED, NO_RUN, false, 0 },
    { PHASE_DELAYED, IN_PARKED, NO_RUN | ABORTED, false, 0 },
    { PHASE_BLOCKED, IN_PARKED, NO_RUN | ABORTED, false, 0 },
    { PHASE_BACKOFF, IN_PARKED, ABORTED, false, 0 },
    { PHASE_READY, IN_READY, NO_RUN | ABORTED, false, 0 },
    { PHASE_LEASED, IN_EXECUTION, LEASED, false, 0 },
    { PHASE_RUNNING, IN_EXECUTION, IN_PROGRESS, false, 0 },
    { PHASE_FINISHING, IN_EXECUTION, COMMITTED, true, 0 },
    { PHASE_ENDED, IN_OUTCOME, DONE, true, JOB_SUCCEEDED },
    { PHASE_ENDED, IN_OUTCOME, NO_RUN | ABORTED, false, JOB_FAILED },
    { PHASE_ENDED, IN_OUTCOME, ABORTED, false, JOB_TIMED_OUT },
};

static bool row_fits(size_t i, const struct job_facts *f)
{
    unsigned newest = f->has_execution ? 1u << f->newest : (unsigned)NO_RUN;
    enum place_kind place = sensible[i].place;
    return f->ready == (place == IN_READY) && f->parked == (place == IN_PARKED)
        && f->ended == (place == IN_OUTCOME) && (sensible[i].newest & newest) != 0
        && f->committed == sensible[i].committed
        && (!f->parked || f->parked_as == sensible[i].phase)
        && (!f->ended || f->outcome == sensible[i].outcome);
}

// Takes the lowest digit to this base off a number.
static unsigned digit(unsigned *number, unsigned base)
{
    unsigned lowest = *number % base;
    *number /= base;
    return lowest;
}

TEST(EXEC_8_the_place_of_a_job_follows_from_its_records_and_contradictions_are_found)
{
    unsigned combinations = 2 * 2 * JOB_PHASES * 2 * EXECUTION_STATUSES * 2 * 2 * JOB_STATES;
    for (unsigned number = 0; number < combinations; number++) {
        unsigned rest = number;
        struct job_facts facts = {0};
        facts.ready = digit(&rest, 2);
        facts.parked = digit(&rest, 2);
        facts.parked_as = digit(&rest, JOB_PHASES);
        facts.has_execution = digit(&rest, 2);
        facts.newest = digit(&rest, EXECUTION_STATUSES);
        facts.committed = digit(&rest, 2);
        facts.ended = digit(&rest, 2);
        facts.outcome = digit(&rest, JOB_STATES);

        size_t row = 0;
        while (row < countof(sensible) && !row_fits(row, &facts))
            row++;
        enum job_phase phase = JOB_PHASES;
        const char *problem;
        EXPECT_INT(job_phase_of(&facts, &phase, &problem), row < countof(sensible));
        EXPECT((problem == NULL) == (row < countof(sensible)));
        if (!problem)
            EXPECT_INT(phase, sensible[row].phase);
    }
}
