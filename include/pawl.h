// Pawl: durable background jobs for C and C++ programs.
//
// A program opens a store, registers a handler for each type of job, enqueues jobs and starts the
// runner. Every answer is on disk before it is given; a job is never lost, and its effect is never
// applied twice, whenever the program is killed.
//
//     static bool greet(struct pawl_run *run, void *context)
//     {
//         return pawl_result(run, "{\"greeting\":\"hello\"}");
//     }
//
//     struct pawl *pawl;
//     struct pawl_error err;
//     struct pawl_options options = { .store = "sqlite:jobs.db" };
//     struct pawl_handler handler = { .job_type = "greet", .prepare = greet };
//     struct pawl_job job = { .job_type = "greet", .payload = "{\"name\":\"Ada\"}" };
//
//     if (!pawl_open(&pawl, &options, &err) || !pawl_handle(pawl, &handler, &err)
//         || !pawl_start(pawl, &err) || !pawl_enqueue(pawl, &job, NULL, &err))
//         fprintf(stderr, "%s\n", err.message);
//     ...
//     pawl_close(pawl);
//
// Functions that can fail answer bool and take `struct pawl_error *err` last, which may be NULL.
// true: done. false: nothing changed, and `err` says what, which one and what to do; the one
// exception is PAWL_IN_DOUBT. Texts are UTF-8 and end in NUL; what is passed in is copied. In every
// struct zero and NULL mean "not given", so name only the fields you need.
//
// Threads: a `struct pawl` may be used by any number of threads at once. A `struct pawl_run` and a
// `struct pawl_tx` belong to the thread that was given it. Open a store after a fork, not before:
// a child is refused with PAWL_USAGE, and pawl_close does nothing there.
#ifndef PAWL_H
#define PAWL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_API __attribute__((visibility("default")))
#define PAWL_CHECKED __attribute__((warn_unused_result))
#define PAWL_PRINTF(template, first) __attribute__((format(printf, template, first)))
#else
#define PAWL_API
#define PAWL_CHECKED
#define PAWL_PRINTF(template, first)
#endif

// The version of the library this program runs with: "0.1.0".
PAWL_API const char *pawl_version(void);

typedef int64_t pawl_time;  // microseconds since 1970, UTC

// ----- errors

enum pawl_code {
    PAWL_OK,
    PAWL_USAGE,               // the call itself is wrong: a bug in the program that makes it
    PAWL_INVALID,             // what is given breaks the contract; the message names every problem
    PAWL_NOT_FOUND,
    PAWL_CONFLICT,            // the state does not allow it
    PAWL_FENCED,              // the lease or the loan is over: somebody else may have it now
    PAWL_ALREADY_COMMITTED,
    PAWL_NOT_STARTED,
    PAWL_TERMINAL,            // the job has ended
    PAWL_KEY_REUSED,          // the idempotency key belongs to a job with another content
    PAWL_EFFECT_NOT_ALLOWED,
    PAWL_FORBIDDEN,
    PAWL_TOO_LARGE,
    PAWL_BUSY,                // another process has the store: try again
    PAWL_FULL,                // too much waits already: try again later
    PAWL_QUEUE_FULL,          // the same, in this queue
    PAWL_DISK_FULL,
    PAWL_STORE,               // the store failed
    PAWL_DAMAGED,             // records contradict each other: see `pawl verify`
    PAWL_IN_DOUBT,            // the store was lost in the middle of a commit: it may have happened
    PAWL_NO_MEMORY,
    PAWL_UNAUTHORIZED,        // no key, or not a good one
    PAWL_TOO_MANY,            // too many requests: try again later
    PAWL_SLOT_CLAIMED,        // the slot of a schedule was claimed before
    PAWL_MAX_INSTANCES,       // as many runs of a schedule as may be are under way
    PAWL_CLOSED,              // the dead letter was replayed, fixed or discarded before
    PAWL_OUTDATED,            // a newer Pawl has changed the store: nothing is written any more
    PAWL_CODES
};

struct pawl_error {
    enum pawl_code code;
    char message[512];  // one line
};

// The word of a code, as the command line and the HTTP interface say it: "lease_lost".
PAWL_API const char *pawl_code_word(enum pawl_code code);

// ----- a store

struct pawl;

// One line of what the library does, for the program's own log. The texts live during the call.
struct pawl_log_line {
    pawl_time at;
    bool warning;          // somebody should look at it
    const char *event;     // RUN_STARTED, RUN_ENDED, STEP_RETRIED, LEASE_LOST, RUN_WRITTEN_OFF, ...
    const char *job_id;    // empty: of no job in particular; so with the following
    const char *job_type;
    const char *org_id;
    const char *project_id;
    const char *request_id;
    const char *correlation_id;
    int attempt;           // 0: none
    const char *message;   // never shows a payload
};

struct pawl_options {
    const char *store;     // NULL: "sqlite:pawl.db"
    const char *org_id;    // a UUID: whose jobs this program enqueues; NULL: the default org
    const char *actor_id;  // in whose name; NULL: the name of the program

    // The runner. A name that stays the same when the program is started again tells which runs a
    // dead process left behind (NULL: host and program, numbered when several run at once).
    const char *instance;
    int workers;           // handlers that run at once; 0: one per processor and at least 4
    int prefetch;          // jobs leased ahead of them; 0: what 50 ms of work is; -1: none
    int written_off_max;   // threads given up to handlers that ignore their deadline; 0: workers
    int64_t grace_us;      // how long after its deadline a handler is waited for; 0: 5 s

    int64_t loan_us;       // how long pawl_begin may keep others from writing; 0: 1 s
    int64_t commit_us;     // how long the SQL of a commit handler may take; 0: 1 s
    int64_t busy_us;       // how long a call waits while another process writes; 0: 10 s
    size_t waiting_max;    // calls that may wait for the store before PAWL_FULL; 0: 10,000

    // Called from any of the library's threads, one at a time. It must not call the library.
    void (*log)(void *context, const struct pawl_log_line *line);
    void *log_context;

    // For tests: no threads, no waiting for the disk, and time moves only by pawl_advance. See
    // pawl_run_until_idle.
    bool virtual_time;
    pawl_time virtual_start;  // 0: 2026-01-01T00:00:00Z
};

// Opens a store, made when it does not exist, and brings its schema up to date.
PAWL_API PAWL_CHECKED bool pawl_open(struct pawl **pawl, const struct pawl_options *options,
                                     struct pawl_error *err);

// Stops the runner as pawl_stop does without waiting, answers what was asked, takes back what
// pawl_begin has lent (which must still be ended), closes. NULL is fine.
PAWL_API void pawl_close(struct pawl *pawl);

// ----- jobs

enum { PAWL_ID_BYTES = 37 };  // a UUID as text, with its NUL

struct pawl_job {
    const char *job_type;         // must be given: letters, digits and ._:- up to 128 bytes
    const char *payload;          // a JSON object; NULL: {}
    const char *idempotency_key;  // asking twice with one key makes one job; NULL: a unique one
    const char *serial_key;       // of the jobs with one serial key only one runs at a time
    const char *queue;            // NULL: as the policy says, which is mostly "q:default"
    const char *policy;           // NULL: as the handler of the type says, else "default"
    pawl_time scheduled_for;      // 0: at once
    int64_t max_wait_us;          // not claimed by then: RESOURCE_EXHAUSTED; 0: waits for ever
    int priority;                 // -100 to 100, higher first
    bool hold;                    // stays CREATED until pawl_submit
    const char *org_id;           // a UUID; NULL: as in the options
    const char *project_id;
    const char *request_id;       // NULL: a new one
    const char *correlation_id;   // NULL: the request's
    const char *traceparent;
    const char *authorized_by;
    const char *const *after;     // ids of jobs: it runs when all of them have SUCCEEDED ...
    size_t after_count;           // ... and fails when one ends otherwise; at most 64
    const char *batch_id;         // the batch it joins, which must not have ended
    const char *limit_key;        // what limits per key of its type go by; NULL: none of them
};

struct pawl_ticket {
    char job_id[PAWL_ID_BYTES];
    bool deduplicated;  // the key was known: this is the job that has it
};

// Stores a job. When it answers true the job is on disk. `ticket` may be NULL. Calls of many
// threads share one fsync.
PAWL_API PAWL_CHECKED bool pawl_enqueue(struct pawl *pawl, const struct pawl_job *job,
                                        struct pawl_ticket *ticket, struct pawl_error *err);

// Stores many in one transaction: all or, when one is refused, none. At most 10,000 with 64 MiB of
// payloads, since nobody else can write meanwhile. `tickets` has room for as many or is NULL. The
// message names the job by its index: "jobs[3].payload: ...".
PAWL_API PAWL_CHECKED bool pawl_enqueue_all(struct pawl *pawl, const struct pawl_job *jobs,
                                            size_t count, struct pawl_ticket *tickets,
                                            struct pawl_error *err);

struct pawl_status {
    char job_id[PAWL_ID_BYTES];
    const char *state;         // CREATED QUEUED RUNNING RETRYING SUCCEEDED FAILED TIMED_OUT
    const char *phase;         // held delayed ready blocked leased running finishing backoff ended
    const char *failure_type;  // "" unless it ended badly: see below
    bool ended;
    int attempt;               // executions so far
    int percent;               // as last reported by this attempt; -1: never
    char progress[256];        // what it said about it
    char error[256];           // of the last attempt that failed; "" once it has SUCCEEDED
    pawl_time created_at, started_at, completed_at;  // 0: not yet
};

// HANDLER_ERROR: it failed with a class that is not retried. ATTEMPTS_EXHAUSTED: the policy allows
// no other attempt. TIMEOUT, LEASE_EXPIRED, PROCESS_TERMINATED: too long, silent, crashed, and the
// policy ends it then. CANCELLED. RESOURCE_EXHAUSTED: `max_wait_us` went by. DEPENDENCY_FAILED.

// The job as it is on disk. Jobs of another org than the handle's are not found, here and below.
PAWL_API PAWL_CHECKED bool pawl_get(struct pawl *pawl, const char *job_id,
                                    struct pawl_status *status, struct pawl_error *err);

// Waits until the job has ended or the time is over; `status` says which.
PAWL_API PAWL_CHECKED bool pawl_wait(struct pawl *pawl, const char *job_id, int64_t timeout_us,
                                     struct pawl_status *status, struct pawl_error *err);

// What came out of it, as JSON: "null" when there is no result, and until it has SUCCEEDED. Give it
// back with pawl_free.
PAWL_API PAWL_CHECKED bool pawl_get_result(struct pawl *pawl, const char *job_id, char **json,
                                           struct pawl_error *err);

// The whole job with payload and result as a JSON object. Give it back with pawl_free.
PAWL_API PAWL_CHECKED bool pawl_get_json(struct pawl *pawl, const char *job_id, char **json,
                                         struct pawl_error *err);
PAWL_API void pawl_free(void *text);

// CREATED -> QUEUED.
PAWL_API PAWL_CHECKED bool pawl_submit(struct pawl *pawl, const char *job_id,
                                       struct pawl_error *err);

// Ends a job that waits, asks a running one to stop; `ended` (may be NULL) says which it was.
// PAWL_TERMINAL or PAWL_ALREADY_COMMITTED when it is too late.
PAWL_API PAWL_CHECKED bool pawl_cancel(struct pawl *pawl, const char *job_id, bool *ended,
                                       struct pawl_error *err);

// Makes a new job from one that has ended, with its payload and terms and a key of its own.
PAWL_API PAWL_CHECKED bool pawl_retry(struct pawl *pawl, const char *job_id,
                                      struct pawl_ticket *ticket, struct pawl_error *err);

// ----- batches

// Jobs that are stored together, and a job that follows when all of them have ended, however they
// did: its payload has their numbers as "batch". Others may join until then, with `batch_id`; best
// as follow-ups of one that is in it. They all are of the handle's org.
struct pawl_batch {
    const char *name;                // for people; NULL: none
    const struct pawl_job *jobs;     // 1 to 1,000, all of them new
    size_t count;
    const struct pawl_job *callback; // NULL: none; it has no key, time or other jobs of its own
};

// All or, when one is refused, none: "jobs[3].payload: ...".
PAWL_API PAWL_CHECKED bool pawl_batch_create(struct pawl *pawl, const struct pawl_batch *batch,
                                             char batch_id[PAWL_ID_BYTES],
                                             struct pawl_error *err);

struct pawl_batch_status {
    bool ended;                      // all of them
    int64_t jobs;                    // in it so far
    int64_t succeeded, failed, timed_out;
    char callback_id[PAWL_ID_BYTES]; // of the callback; "" until it is made
};

PAWL_API PAWL_CHECKED bool pawl_batch_get(struct pawl *pawl, const char *batch_id,
                                          struct pawl_batch_status *status,
                                          struct pawl_error *err);

// ----- limits

// How many jobs may run at once, and begin per time, in all processes on the store together. One of
// the three names says whose limit it is; none of them: that of each org without one of its own.
struct pawl_limit {
    const char *queue;
    const char *job_type;
    const char *org_id;
    bool per_key;          // with job_type: of its jobs of one org with one limit_key
    int64_t max_running;   // 0: no limit
    const char *rate;      // "100/s", "10/m", "500/h", "10/m burst 3"; NULL: no limit
    bool pause;            // of a job_type: PAWL_RATE_LIMITED keeps its jobs of the org waiting ...
    bool pause_all;        // ... with `pause`: those of every org ...
    int64_t pause_us;      // ... so long, unless the job says how long; 0: 30 s
};

// Sets it in the store, where it stays; what runs already counts. One that says nothing takes the
// limit away.
PAWL_API PAWL_CHECKED bool pawl_limit(struct pawl *pawl, const struct pawl_limit *limit,
                                      struct pawl_error *err);

// ----- handlers

struct pawl_run;  // one execution of a job, as its handler sees it
struct pawl_tx;   // a transaction, as the application sees it

// What runs jobs of one type, in up to three phases. Only the first must be there.
struct pawl_handler {
    const char *job_type;

    // The work. It may be run again after a crash, so it changes nothing outside this run: it
    // reads, computes, keeps results of steps, and says with pawl_result what came out. Answers
    // true when the work is done, or what pawl_fail answers.
    bool (*prepare)(struct pawl_run *run, void *context);

    // The effect on the application's own tables, in the transaction that marks the job COMMITTED:
    // exactly once, or not at all. Runs on the thread that writes: be short (`commit_us`), do not
    // wait, and call nothing of the library but pawl_tx_... and the questions about the run. After
    // false the job is not committed and the attempt has failed, as pawl_fail said.
    bool (*commit)(struct pawl_run *run, struct pawl_tx *tx, void *context);

    // The effect on the world outside, after COMMITTED. It is run again until it answers true, also
    // after a crash, so it shows pawl_effect_key, which is the same on every try, to whoever can
    // recognise a repetition. Between tries it waits as the policy says of retries, at least a
    // second, however many there are and whatever the class of the failure; the job is RUNNING, in
    // the phase `finishing`, and cannot be cancelled.
    bool (*finish)(struct pawl_run *run, void *context);

    void *context;
    const char *policy;  // of jobs of this type that name none; NULL: "default"
};

// Registers a handler, before pawl_start and before other threads use the handle. PAWL_CONFLICT
// when the type has one.
PAWL_API PAWL_CHECKED bool pawl_handle(struct pawl *pawl, const struct pawl_handler *handler,
                                       struct pawl_error *err);

enum pawl_choice { PAWL_AS_BASE,
                   PAWL_YES,
                   PAWL_NO };
enum pawl_on_crash { PAWL_ON_CRASH_AS_BASE,
                     PAWL_ON_CRASH_FAIL,
                     PAWL_ON_CRASH_RETRY };
enum pawl_on_timeout { PAWL_ON_TIMEOUT_AS_BASE,
                       PAWL_ON_TIMEOUT_TIMED_OUT,
                       PAWL_ON_TIMEOUT_RETRY,
                       PAWL_ON_TIMEOUT_FAIL };

// How often a job is tried, how long it may take, what a crash means. It is copied onto the job
// when that is enqueued. Built in: default, document, lifecycle, scheduled, critical, audit,
// notification, planning, transfer, maintenance.
struct pawl_policy {
    const char *name;
    const char *base;              // what is not given here is as there; NULL: "default"
    int max_attempts;
    int step_attempts;             // tries of one step within an attempt
    enum pawl_choice exponential;  // base_us, doubled with every retry; else always base_us
    enum pawl_choice jitter;
    int64_t base_us, delay_us_max;
    int64_t timeout_us;            // of one attempt, from its start
    int64_t lease_us;              // how long a silent worker is believed; 1 s to 1 h
    enum pawl_on_crash on_crash;
    enum pawl_on_timeout on_timeout;
    enum pawl_choice dead_letter;
    int64_t key_ttl_us;            // how long an idempotency key is remembered
    const char *queue;
};

// Defines a policy, before the handlers and jobs that name it, as early as pawl_handle.
// PAWL_CONFLICT when there is one of this name.
PAWL_API PAWL_CHECKED bool pawl_define_policy(struct pawl *pawl, const struct pawl_policy *policy,
                                              struct pawl_error *err);

// ----- inside a handler

// The job. The texts live as long as the run.
PAWL_API const char *pawl_job_id(const struct pawl_run *run);
PAWL_API const char *pawl_job_type(const struct pawl_run *run);
PAWL_API const char *pawl_org_id(const struct pawl_run *run);
PAWL_API const char *pawl_project_id(const struct pawl_run *run);  // "" when there is none
PAWL_API const char *pawl_request_id(const struct pawl_run *run);
PAWL_API const char *pawl_correlation_id(const struct pawl_run *run);
PAWL_API const char *pawl_exec_id(const struct pawl_run *run);     // of this execution
PAWL_API const char *pawl_payload(const struct pawl_run *run);     // JSON
PAWL_API const char *pawl_effect_key(const struct pawl_run *run);  // the same on every try
PAWL_API const char *pawl_traceparent(const struct pawl_run *run); // "" when there is none
PAWL_API int pawl_attempt(const struct pawl_run *run);             // 1 is the first

// What came out of the work, a JSON value of up to 1 MiB, stored with COMMITTED. Said twice, the
// last counts. False, with the run failed, when it is not JSON or too large, and anywhere but in
// prepare itself: a step that is not run again would not say it.
PAWL_API PAWL_CHECKED bool pawl_result(struct pawl_run *run, const char *json);
PAWL_API const char *pawl_result_of(const struct pawl_run *run);  // "" when there is none

// Why an attempt fails. The class decides whether another one follows.
enum pawl_class {
    PAWL_TRANSIENT,  // retried: ...
    PAWL_TIMEOUT,
    PAWL_OVERLOAD,
    PAWL_DEPENDENCY,
    PAWL_RATE_LIMITED,
    PAWL_INVALID_INPUT,  // not retried: ...
    PAWL_VALIDATION,
    PAWL_AUTHORIZATION,
    PAWL_BUSINESS_RULE,
    PAWL_CONFIGURATION,
    PAWL_RESOURCE_LIMIT,
    PAWL_TIMEOUT_PERMANENT,
    PAWL_CLASSES
};

// Says why and answers false: `return pawl_fail(run, PAWL_DEPENDENCY, "no answer from %s", host);`.
// The first reason counts, and has failed the run even if the handler then answers true. A handler
// that answers false without it has failed with PAWL_TRANSIENT.
PAWL_API bool pawl_fail(struct pawl_run *run, enum pawl_class class_, const char *format, ...)
    PAWL_PRINTF(3, 4);

// Not before this time: as a provider's Retry-After asks. Together with pawl_fail.
PAWL_API void pawl_retry_after(struct pawl_run *run, int64_t microseconds);

// A part of the work whose result is durable: after a crash it is not computed again. Does `work`
// unless its result is on record, up to `step_attempts` times (2) as long as it fails with a class
// that is retried, and answers true when there is a result; false when the run must end: return
// false then. The step's own result is a JSON value it
// sets with pawl_step_result; `result` (may be NULL) points to it as long as the run lives.
typedef bool (*pawl_step_work)(struct pawl_run *run, void *context);
PAWL_API PAWL_CHECKED bool pawl_step(struct pawl_run *run, const char *name, pawl_step_work work,
                                     void *context, const char **result);
PAWL_API PAWL_CHECKED bool pawl_step_result(struct pawl_run *run, const char *json);

// How far the work is. Cheap to call often: at most ten a second reach the store, and the last.
PAWL_API void pawl_progress(struct pawl_run *run, int percent, const char *format, ...)
    PAWL_PRINTF(3, 4);

// Whether the work should end early, and why. Ask between pieces of work and return false: the
// runner does the rest. Steps ask by themselves.
enum pawl_stop {
    PAWL_GO_ON,
    PAWL_STOP_CANCELLED,   // somebody cancelled the job
    PAWL_STOP_LEASE_LOST,  // another worker has it by now: nothing of this run will be kept
    PAWL_STOP_DEADLINE,    // it took too long
    PAWL_STOP_SHUTDOWN,    // the program ends: the job is given back, and no attempt is burnt
};
PAWL_API enum pawl_stop pawl_stopped(const struct pawl_run *run);

// Sleeps, but not past the moment the run should stop. True when the time went by.
PAWL_API bool pawl_pause(struct pawl_run *run, int64_t microseconds);

// A job that exists because of this one: stored in the transaction that commits it. In prepare, as
// pawl_result; so pawl_annotate.
PAWL_API PAWL_CHECKED bool pawl_follow_up(struct pawl_run *run, const struct pawl_job *job);

// A JSON object for the audit trail, appended in the transaction that commits the job.
PAWL_API PAWL_CHECKED bool pawl_annotate(struct pawl_run *run, const char *json);

// A file that comes of the work: its bytes are stored at once, with their SHA-256, as an artifact
// of the job's org and project, and are the job's when it commits. `content_type` may be NULL. A
// job of category planning must have one. In prepare, as pawl_result.
PAWL_API PAWL_CHECKED bool pawl_artifact(struct pawl_run *run, const char *path,
                                         const char *content_type);

// How many rows of its own the work took in or made: told in the log line of its end.
PAWL_API void pawl_rows_processed(struct pawl_run *run, int64_t rows);

// ----- the application's own tables

// They live in the store's file, so that a job and a business row are committed together. Pawl's
// own tables (pawl_tx_owns) can be read and not changed, and the transaction is Pawl's to begin and
// to end: statements that try are refused with PAWL_FORBIDDEN, and so are temporary tables, ATTACH,
// ANALYZE and settings. A table must not refer to one of Pawl's by a foreign key: keep the id of a
// job as a text.

// Begins a transaction and keeps every other writer away until it ends: be quick, and do not wait
// for anything. When `loan_us` is over, what was done is taken back and every further call answers
// PAWL_FENCED. One at a time: others wait, up to ten seconds (PAWL_BUSY). While a thread has one,
// its calls that would change the store by another way are refused with PAWL_USAGE; so in a
// handler's commit, which has a transaction already.
PAWL_API PAWL_CHECKED bool pawl_begin(struct pawl *pawl, struct pawl_tx **tx,
                                      struct pawl_error *err);

// Ends the transaction, whatever the answer; on true everything in it is on disk. Nothing is stored
// when a statement is left that was not finalized, or when one of the application's own has ended
// the transaction, as INSERT OR ROLLBACK does.
PAWL_API PAWL_CHECKED bool pawl_commit(struct pawl_tx *tx, struct pawl_error *err);
PAWL_API void pawl_rollback(struct pawl_tx *tx);  // NULL is fine

// Runs statements that answer no rows: all of them or, when one fails, none. PAWL_CONFLICT when a
// constraint refuses it, PAWL_USAGE when it is wrong.
PAWL_API PAWL_CHECKED bool pawl_tx_execute(struct pawl_tx *tx, const char *sql,
                                           struct pawl_error *err);

PAWL_API PAWL_CHECKED bool pawl_tx_enqueue(struct pawl_tx *tx, const struct pawl_job *job,
                                           struct pawl_ticket *ticket, struct pawl_error *err);

// The connection, for statements of the application's own, savepoints included. A statement that is
// not allowed is refused with SQLITE_AUTH, one that runs too long is interrupted. Finalize them
// before the transaction ends. Do not close it, do not change its settings, do not stay in its
// callbacks: the transaction cannot be taken back meanwhile.
struct sqlite3;
PAWL_API struct sqlite3 *pawl_tx_sqlite(struct pawl_tx *tx);

// One of Pawl's own tables or views, or a name kept for one: those that begin with pawl_.
PAWL_API bool pawl_tx_owns(const char *table);

// ----- schedules

// Jobs that come by the clock. Each moment, a slot, is claimed at most once, however many processes
// share the store and whenever they are killed; see docs/schedules.md.
struct pawl_schedule {
    const char *name;                // letters, digits and ._:- up to 128
    const char *job_type;
    const char *payload;             // a JSON object; NULL: {}
    const char *cron;                // "*/15 * * * *"; or ...
    int64_t every_us;                // ... every so often, at least a second
    const char *timezone;            // of cron: "Europe/Berlin"; NULL: UTC

    // These must be said.
    enum pawl_choice coalesce;       // several are due: PAWL_YES runs the last one only
    int64_t misfire_grace_us;        // found later than this, a slot is skipped
    int max_instances;               // how many may run at once; a slot that finds them is skipped
    int64_t expected_max_runtime_us; // a run ends TIMED_OUT after twice this

    const char *policy;              // NULL: "scheduled", which tries once
    int catch_up;                    // at most so many are made up for at once without coalesce: 10
    int64_t jitter_us;               // over which those are spread
    const char *project_id;
    bool paused;                     // when it is made
};

// Makes a schedule, or changes the one of this name; from then on a started runner of this handle
// takes part in scheduling. When several processes do, one of them is active.
PAWL_API PAWL_CHECKED bool pawl_schedule(struct pawl *pawl, const struct pawl_schedule *schedule,
                                         struct pawl_error *err);

// Its history stays.
PAWL_API PAWL_CHECKED bool pawl_schedule_remove(struct pawl *pawl, const char *name,
                                                struct pawl_error *err);
PAWL_API PAWL_CHECKED bool pawl_schedule_pause(struct pawl *pawl, const char *name, bool paused,
                                               struct pawl_error *err);

// Claims a slot, in whole seconds, now; `ticket` may be NULL. PAWL_SLOT_CLAIMED when it was claimed
// before, PAWL_MAX_INSTANCES when as many as may be run.
PAWL_API PAWL_CHECKED bool pawl_trigger(struct pawl *pawl, const char *name, pawl_time slot,
                                        struct pawl_ticket *ticket, struct pawl_error *err);

// ----- the runner

// Takes the instance's name, recovers what a dead process of this name left running, and begins to
// work on the types that have handlers. PAWL_CONFLICT when a process of this name lives.
PAWL_API PAWL_CHECKED bool pawl_start(struct pawl *pawl, struct pawl_error *err);

// Takes no new work and waits until what runs has ended; false with PAWL_BUSY when that takes
// longer than `wait_us`. pawl_start goes on.
PAWL_API PAWL_CHECKED bool pawl_drain(struct pawl *pawl, int64_t wait_us, struct pawl_error *err);

// Takes no new work, gives back what has not begun, waits for handlers as pawl_drain does, then
// tells them to stop (PAWL_STOP_SHUTDOWN), waits `grace_us`, and gives back what is left. Nothing
// given back burns an attempt. A handler that never returns keeps its thread and no lease.
PAWL_API void pawl_stop(struct pawl *pawl, int64_t wait_us);

struct pawl_figures {
    int64_t running;        // handlers at work now
    int64_t prefetched;     // leased and not begun
    int64_t started;        // since the store was opened, every finish included ...
    int64_t succeeded;
    int64_t failed;         // runs that failed, cancelled ones included
    int64_t released;
    int64_t leases_lost;
    int64_t deadlines;      // runs that passed theirs
    int64_t written_off;    // handlers that ignored it and were given up
    int64_t written_off_now;// ... and have not returned since
    int64_t steps_retried;
    int64_t recovered;      // runs a dead process had left
    int64_t wake_ups;       // of the runner's own thread
    int64_t leads;          // 1: this process is the active scheduler
    int64_t slots_claimed;  // by it, since the store was opened ...
    int64_t slots_misfired; // ... and skipped: found too late
    int64_t slots_coalesced;
    int64_t slots_at_max_instances;
    int64_t slots_paused;
    int64_t slots_over_catch_up;
    int64_t slots_stale;    // ended because they took too long
    int64_t slots_recovered;// left by a dead process, ended at the start
    int64_t commits;        // transactions
    int64_t operations;     // calls they answered
};
PAWL_API struct pawl_figures pawl_figures(struct pawl *pawl);

// ----- time, in tests

// Works until nothing is left that could be done now: no job is ready and none runs. With
// `virtual_time` the handlers run on this thread, one after another, in a fixed order; otherwise
// the runner must have been started, and this waits for it.
PAWL_API PAWL_CHECKED bool pawl_run_until_idle(struct pawl *pawl, struct pawl_error *err);

// With `virtual_time`: lets time go by, and everything that comes due happen at its own moment.
// Inside a handler it only moves the clock, as if the handler had taken that long.
PAWL_API PAWL_CHECKED bool pawl_advance(struct pawl *pawl, int64_t microseconds,
                                        struct pawl_error *err);

PAWL_API pawl_time pawl_now(struct pawl *pawl);  // by the clock the handle lives by

// ----- faults, in tests: refused with PAWL_USAGE without `virtual_time`

enum pawl_fault {
    PAWL_FAULT_NONE,          // takes back what was asked for
    PAWL_FAULT_REFUSE,        // the commit is refused as by a full disk: nothing is stored
    PAWL_FAULT_LOSE_ANSWER,   // it is stored, and its callers are told PAWL_IN_DOUBT
    PAWL_FAULT_CRASH_BEFORE,  // the process dies just before the commit ...
    PAWL_FAULT_CRASH_AFTER,   // ... or just after it, before anybody is told
};

// Lets the `nth` commit of this handle from now on (1: the next) go wrong, instead of what was
// asked for before. Whatever is written is a commit: calls, claims, steps, ends of runs. After a
// crash every write fails until pawl_test_restart; a handler that was running returns by itself.
PAWL_API PAWL_CHECKED bool pawl_test_fault(struct pawl *pawl, enum pawl_fault fault, int64_t nth,
                                           struct pawl_error *err);
PAWL_API bool pawl_test_fault_waits(struct pawl *pawl);  // there was no such commit yet

// Starts the program again after a crash, or as if it crashed now: nothing is given back or ended,
// and the next pawl_run_until_idle finds what was left behind. Handlers and the clock stay.
PAWL_API PAWL_CHECKED bool pawl_test_restart(struct pawl *pawl, struct pawl_error *err);

#ifdef __cplusplus
}
#endif
#endif
