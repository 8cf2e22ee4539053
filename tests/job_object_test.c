// What must hold of a job in each state, and the objects of the interface.

#include "test.h"

#include <string.h>

#include "model/execution.h"
#include "model/job.h"

#define NOW ((pawl_time)1787392800000000)  // 2026-08-22T10:00:00Z

// A job in this place as the engine would leave it; an ended one with this outcome.
static struct job job_in(enum job_phase phase, enum job_state outcome)
{
    bool ended = phase == PHASE_ENDED, succeeded = ended && outcome == JOB_SUCCEEDED;
    bool waits = phase < PHASE_LEASED;
    return (struct job){
        .id = { 7 << 12, 7 },
        .contract = { .job_type = S("report.export"),
                      .org_id = DEFAULT_ORG,
                      .actor_id = S("u1"),
                      .payload = S("{\"b\":1,\"a\":[2.5]}"),
                      .queue = S("q:default"),
                      .policy = *policy_builtin(S("default")) },
        .created_at = NOW,
        .updated_at = NOW,
        .phase = phase,
        .state = ended ? outcome : job_phase_state(phase),
        .queue = S("q:default"),
        .attempt = waits ? 0 : 1,
        .attempts_used = waits ? 0 : 1,
        .started_at = waits || phase == PHASE_LEASED ? 0 : NOW + 1,
        .completed_at = ended ? NOW + 2 : 0,
        .failure_type = ended && !succeeded ? FAILURE_TIMEOUT : FAILURE_NONE,
        .progress_percent = -1,
    };
}

static void expect_sound(struct job job)
{
    const char *problem = job_problem(&job);
    expect_str(str_of(problem), S(""), PLACE(job_phase_name(job.phase)));
}

TEST(JOB_5_a_job_is_sound_in_every_place)
{
    for (unsigned phase = 0; phase < PHASE_ENDED; phase++)
        expect_sound(job_in(phase, 0));
    expect_sound(job_in(PHASE_ENDED, JOB_SUCCEEDED));
    expect_sound(job_in(PHASE_ENDED, JOB_FAILED));
    expect_sound(job_in(PHASE_ENDED, JOB_TIMED_OUT));
}

TEST(JOB_5_a_job_that_used_all_its_attempts_is_sound)
{
    struct job job = job_in(PHASE_ENDED, JOB_FAILED);
    job.attempt = 7;
    job.attempts_used = job.contract.policy.max_attempts;
    job.retry_count = job.contract.policy.max_attempts - 1;
    job.failure_type = FAILURE_ATTEMPTS_EXHAUSTED;
    job.dead_letter = S("open");
    job.queue = DEADLETTER_QUEUE;
    expect_sound(job);
}

TEST(JOB_11_a_job_that_ended_without_running_is_sound)
{
    struct job job = job_in(PHASE_ENDED, JOB_FAILED);
    job.attempt = job.attempts_used = 0;
    job.started_at = 0;
    job.failure_type = FAILURE_RESOURCE_EXHAUSTED;
    expect_sound(job);
}

#define EXPECT_PROBLEM(phase, outcome, change, sentence)          \
    do {                                                          \
        struct job job = job_in((phase), (outcome));              \
        change;                                                   \
        EXPECT_STR(str_of(job_problem(&job)), sentence);          \
    } while (0)

TEST(JOB_5_times_belong_to_their_states)
{
    EXPECT_PROBLEM(PHASE_READY, 0, job.started_at = NOW, "it has a start time and no attempt");
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.started_at = 0, "it started and has no start time");
    EXPECT_PROBLEM(PHASE_FINISHING, 0, job.started_at = 0, "it started and has no start time");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_SUCCEEDED, job.started_at = 0,
                   "it started and has no start time");
    EXPECT_PROBLEM(PHASE_BACKOFF, 0, job.completed_at = NOW,
                   "an end time belongs to final states and to no other");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_TIMED_OUT, job.completed_at = 0,
                   "an end time belongs to final states and to no other");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_FAILED, job.completed_at = NOW - 1,
                   "it ended before it was created");
    EXPECT_PROBLEM(PHASE_READY, 0, job.cancel_requested_at = NOW,
                   "a cancellation is requested of running jobs only");
    EXPECT_PROBLEM(PHASE_BACKOFF, 0, job.cancel_requested_at = NOW,
                   "a cancellation is requested of running jobs only");
}

TEST(JOB_5_errors_belong_to_their_states)
{
    EXPECT_PROBLEM(PHASE_ENDED, JOB_SUCCEEDED, job.last_error = S("x"),
                   "it SUCCEEDED and still has an error");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_SUCCEEDED, job.error_class = ERROR_TRANSIENT,
                   "it SUCCEEDED and still has an error");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_FAILED, job.failure_type = FAILURE_NONE,
                   "a failure type belongs to FAILED and TIMED_OUT and to nothing else");
    EXPECT_PROBLEM(PHASE_BACKOFF, 0, job.failure_type = FAILURE_TIMEOUT,
                   "a failure type belongs to FAILED and TIMED_OUT and to nothing else");
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.dead_letter = S("open"),
                   "only FAILED and TIMED_OUT jobs are dead letters");
    EXPECT_PROBLEM(PHASE_ENDED, JOB_FAILED,
                   (job.dead_letter = S("open"), job.failure_type = FAILURE_CANCELLED),
                   "a cancelled job is no dead letter");
}

TEST(JOB_6_attempts_and_retries_are_bounded)
{
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.attempts_used = 2, "it used more attempts than it had");
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.attempt = job.attempts_used = 6,
                   "it used more attempts than its policy allows");
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.retry_count = 5,
                   "it was retried more often than its policy allows");
    EXPECT_PROBLEM(PHASE_RUNNING, 0, job.attempts_used = -1, "its counts are not negative");
    EXPECT_PROBLEM(PHASE_LEASED, 0, job.attempt = job.attempts_used = 0,
                   "it is past QUEUED and has no attempt");
    EXPECT_PROBLEM(PHASE_HELD, 0, job.attempt = 1, "it was never submitted and has attempts");
    EXPECT_PROBLEM(PHASE_READY, 0, job.priority = 101, "its priority is out of range");
    EXPECT_PROBLEM(PHASE_READY, 0, job.priority = -101, "its priority is out of range");
}

TEST(EXEC_8_a_state_that_is_not_that_of_its_place_is_found)
{
    for (unsigned phase = 0; phase < JOB_PHASES; phase++)
        for (unsigned state = 0; state < JOB_STATES; state++) {
            struct job job = job_in(phase, JOB_SUCCEEDED);
            job.state = state;
            bool fits = phase == PHASE_ENDED ? job_state_final(state)
                                             : state == job_phase_state(phase);
            if (!fits)
                EXPECT(job_problem(&job) != NULL);
        }
}

// The object has exactly these fields, in this order.
static void expect_keys(json_t *object, const char *names)
{
    struct buf keys = buf_new(test_arena(), 4096);
    const char *key;
    json_t *value;
    EXPECT(object != NULL);
    json_object_foreach (object, key, value) {
        buf_addf(&keys, "%s%s", keys.n ? " " : "", key);
    }
    expect_str(buf_str(&keys), str_of(names), PLACE("the fields"));
}

static void expect_field(const json_t *object, const char *name, const char *json)
{
    expect_str(json_text(test_arena(), json_object_get(object, name)), str_of(json), PLACE(name));
}

#define JOB_FIELDS                                                                                 \
    "job_id job_type org_id project_id actor_type actor_id request_id correlation_id "            \
    "idempotency_key created_at payload scheduled_for traceparent category queue "                \
    "origin_queue priority serial_key limit_key policy max_wait after batch_id parent_job_id "    \
    "origin state coarse_state phase attempt attempts_used max_attempts retry_count "             \
    "max_retries run_at updated_at started_at completed_at last_error error_type "                \
    "failure_type cancel_requested_at progress result authoritative dead_letter"

TEST(OPS_1_the_job_object_has_every_field_and_null_where_there_is_nothing)
{
    static const char *const nothing[] = {
        "project_id", "scheduled_for", "traceparent", "serial_key", "limit_key", "max_wait",
        "after", "batch_id", "parent_job_id", "origin", "started_at", "completed_at", "last_error",
        "error_type", "failure_type", "cancel_requested_at", "progress", "result", "dead_letter",
    };
    struct job job = job_in(PHASE_READY, 0);
    SCOPED(json) json_t *object = job_json(test_arena(), &job);
    expect_keys(object, JOB_FIELDS);
    for (size_t i = 0; i < countof(nothing); i++)
        expect_field(object, nothing[i], "null");
    expect_field(object, "payload", "{\"b\":1,\"a\":[2.5]}");
    expect_field(object, "actor_type", "\"user\"");
    expect_field(object, "created_at", "\"2026-08-22T10:00:00.000Z\"");
    expect_field(object, "state", "\"QUEUED\"");
    expect_field(object, "coarse_state", "\"PENDING\"");
    expect_field(object, "phase", "\"ready\"");
    expect_field(object, "policy", "\"default\"");
    expect_field(object, "category", "\"default\"");
    expect_field(object, "max_attempts", "5");
    expect_field(object, "max_retries", "4");
}

TEST(OPS_1_the_job_object_of_a_dead_letter_shows_what_happened)
{
    struct job job = job_in(PHASE_ENDED, JOB_TIMED_OUT);
    job.queue = DEADLETTER_QUEUE;
    job.dead_letter = S("open");
    job.last_error = S("no answer");
    job.error_class = ERROR_TIMEOUT;
    job.progress_percent = 40;
    job.progress_message = S("page 4");
    job.result = S("[1]");
    job.contract.max_wait_us = SECONDS(90);
    job.contract.parent = (struct id){ 8 << 12, 8 };
    job.contract.origin = S("retry");
    SCOPED(json) json_t *object = job_json(test_arena(), &job);
    expect_keys(object, JOB_FIELDS);
    expect_field(object, "queue", "\"q:deadletter\"");
    expect_field(object, "origin_queue", "\"q:default\"");
    expect_field(object, "dead_letter", "\"open\"");
    expect_field(object, "coarse_state", "\"FAILED\"");
    expect_field(object, "last_error", "\"no answer\"");
    expect_field(object, "error_type", "\"RETRYABLE\"");
    expect_field(object, "failure_type", "\"TIMEOUT\"");
    expect_field(object, "progress", "{\"percent\":40,\"message\":\"page 4\"}");
    expect_field(object, "result", "[1]");
    expect_field(object, "max_wait", "\"90s\"");
    expect_field(object, "parent_job_id", "\"00000000-0008-7000-8000-000000000008\"");
    expect_field(object, "origin", "\"retry\"");
}

// What is nested as deeply as a payload may be is one level deeper in its object.
TEST(OPS_1_the_job_object_has_the_payload_as_it_is_stored)
{
    struct job job = job_in(PHASE_READY, JOB_QUEUED);
    char deep[2 * JSON_DEPTH_MAX + 1] = {0};
    for (int i = 0; i < JSON_DEPTH_MAX; i++) {
        deep[i] = '[';
        deep[2 * JSON_DEPTH_MAX - 1 - i] = ']';
    }
    job.contract.payload = str_of(deep);
    SCOPED(json) json_t *object = job_json(test_arena(), &job);
    expect_keys(object, JOB_FIELDS);
    expect_field(object, "payload", deep);
}

TEST(EXEC_1_the_execution_object_has_every_field)
{
    struct execution execution = {
        .id = { 9 << 12, 9 },
        .job = { 7 << 12, 7 },
        .attempt = 2,
        .status = EXECUTION_ABORTED,
        .lease_owner = S("w1"),
        .end_reason = END_ERROR,
        .error_class = ERROR_VALIDATION,
        .error_message = S("bad"),
        .progress_percent = -1,
    };
    SCOPED(json) json_t *object = execution_json(test_arena(), &execution);
    expect_keys(object, "exec_id job_id attempt lease_owner lease_expires_at status leased_at "
                        "started_at committed_at finished_at end_reason error progress");
    expect_field(object, "status", "\"ABORTED\"");
    expect_field(object, "end_reason", "\"error\"");
    expect_field(object, "error", "{\"class\":\"validation\",\"message\":\"bad\",\"detail\":null}");
    expect_field(object, "started_at", "null");
    expect_field(object, "progress", "null");
}
