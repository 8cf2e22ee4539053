// First what needs time to go by, then what is to stay as it is.
#include "rich_store.h"

#include "artifacts.h"
#include "engine/api_key.h"
#include "engine/batch.h"
#include "engine/limit.h"
#include "engine/seal.h"
#include "engine/slot.h"

static const struct str other_org = { "11111111-0000-7000-8000-000000000000", 36 };

struct lease take(struct box *box, const char *job_type, bool start)
{
    const struct str queues[] = { S("q:default"), S("q:exports") };
    const struct str type = str_of(job_type);
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = countof(queues),
        .job_types = &type,
        .job_type_count = 1,
        .limit = 1,
        .start = start,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 1);
    return lease_of(&claimed[0].execution, &claim.worker);
}

static struct job add(struct box *box, const char *job_type, const char *policy)
{
    struct contract contract = contract_with(box, job_type, policy);
    return must_add(box, &contract);
}

static struct job add_serial(struct box *box, const char *job_type, const char *serial_key)
{
    struct contract contract = contract_for(box, job_type);
    contract.serial_key = str_of(serial_key);
    return must_add(box, &contract);
}

static struct job add_held(struct box *box, const char *job_type)
{
    struct contract contract = contract_for(box, job_type);
    contract.hold = true;
    return must_add(box, &contract);
}

static void add_batch(struct box *box, const char *job_type, const char *callback_type)
{
    struct contract job = contract_for(box, job_type), callback = contract_for(box, callback_type);
    struct problems problems = { .arena = test_arena() };
    struct batch_request request = {
        .org_id = box->caller.org_id,
        .name = str_of(job_type),
        .jobs = &job,
        .count = 1,
        .callback = &callback,
        .problems = &problems,
    };
    struct job_batch batch;
    bool known = true;
    OK(batch_create(tx, &request, &batch, &known, err));
    EXPECT(!known);
}

static void fail_job(struct box *box, const char *job_type, enum error_class class)
{
    struct lease lease = take(box, job_type, true);
    must_fail(box, &lease, class);
}

static void cancel(struct box *box, struct id id)
{
    struct job job;
    OK(job_cancel(tx, id, &job, err));
}

static void change(struct box *box, struct id id, const struct job_change *change)
{
    struct job job;
    OK(job_change(tx, id, change, &job, err));
}

// A key whose time is over belongs to a newer job; one whose time is not gives the old job.
static void keys(struct box *box)
{
    struct contract contract = contract_for(box, "old_key");
    struct job job;
    bool deduplicated = false;
    contract.idempotency_key = S("one key");
    must_add(box, &contract);
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));
    EXPECT(deduplicated);
    struct lease lease = take(box, "old_key", true);
    must_commit(box, &lease);
    pass(box, DAYS(8));
    contract.job_type = S("new_key");
    must_add(box, &contract);
}

static void bad_ends(struct box *box)
{
    add(box, "failed", "default");
    fail_job(box, "failed", ERROR_VALIDATION);
    add(box, "failed_quietly", "document");
    fail_job(box, "failed_quietly", ERROR_TRANSIENT);
    add(box, "exhausted", "lifecycle");
    for (int i = 0; i < 4; i++) {
        fail_job(box, "exhausted", i == 1 ? ERROR_CRASH : ERROR_TRANSIENT);
        pass(box, SECONDS(2));
        must_sweep(box);
    }
    add(box, "timed_out", "document");
    struct lease lease = take(box, "timed_out", true);
    for (int i = 0; i < 5; i++) {
        struct execution e;
        pass(box, SECONDS(25));
        if (i < 4)
            OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    }
    EXPECT_INT(must_sweep(box).timed_out, 1);
    add(box, "crashed", "document");
    take(box, "crashed", false);
    pass(box, SECONDS(31));
    EXPECT_INT(must_sweep(box).expired, 1);
    struct contract contract = contract_for(box, "gave_up");
    contract.max_wait_us = SECONDS(5);
    must_add(box, &contract);
    pass(box, SECONDS(6));
    EXPECT_INT(must_sweep(box).gave_up, 1);
}

static void after_a_restart(struct box *box)
{
    struct instance again = { S("test"), S("boot-2") };
    struct recovered recovered;
    add(box, "terminated", "document");
    take(box, "terminated", true);
    OK(boot_recover(tx, &again, 10, &recovered, err));
    EXPECT_INT(recovered.ended, 1);
}

static void cancellations(struct box *box)
{
    struct execution e;
    cancel(box, add(box, "cancelled", "default").id);
    cancel(box, add_held(box, "cancelled_held").id);
    struct job backoff = add(box, "cancelled_backoff", "default");
    fail_job(box, "cancelled_backoff", ERROR_TRANSIENT);
    cancel(box, backoff.id);
    struct job running = add(box, "cancelled_running", "default");
    struct lease lease = take(box, "cancelled_running", true);
    cancel(box, running.id);
    must_fail(box, &lease, ERROR_TRANSIENT);
    struct job released = add(box, "cancelled_released", "default");
    lease = take(box, "cancelled_released", false);
    cancel(box, released.id);
    OK(execution_release(tx, &lease, &e, err));
    add(box, "cancelled_itself", "default");
    fail_job(box, "cancelled_itself", ERROR_CANCELLED);
    struct job asked = add(box, "asked_to_stop", "default");
    take(box, "asked_to_stop", true);
    cancel(box, asked.id);
}

static void retries(struct box *box)
{
    struct execution e;
    struct job job, dead = add(box, "replayed", "default");
    fail_job(box, "replayed", ERROR_VALIDATION);
    OK(job_retry(tx, dead.id, &job, err));
    struct lease lease = take(box, "replayed", true);
    must_commit(box, &lease);
    add(box, "retried", "default");
    fail_job(box, "retried", ERROR_TRANSIENT);
    pass(box, SECONDS(10));
    must_sweep(box);
    add(box, "released", "default");
    lease = take(box, "released", false);
    OK(execution_release(tx, &lease, &e, err));
}

static void good_ends(struct box *box)
{
    struct execution e;
    add(box, "done", "default");
    struct lease lease = take(box, "done", false);
    OK(execution_start(tx, &lease, &e, err));
    struct commit commit = {
        .result = S("{\"n\":1}"),
        .annotations = &S("{\"note\":1}"),
        .annotation_count = 1,
    };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    pass(box, SECONDS(1));
    OK(execution_done(tx, &lease, &e, err));
    struct contract child = contract_for(box, "child");
    add(box, "parent", "default");
    lease = take(box, "parent", true);
    commit = (struct commit){ .follow_ups = &child, .follow_up_count = 1, .done = true };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    add(box, "finishing", "default");
    lease = take(box, "finishing", true);
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    add(box, "finish_later", "default");
    lease = take(box, "finish_later", true);
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
}

static void waiting(struct box *box)
{
    struct contract delayed = contract_for(box, "delayed");
    delayed.scheduled_for = box->world.wall + HOURS(1);
    delayed.priority = 7;
    must_add(box, &delayed);
    struct contract limited = contract_for(box, "limited");
    limited.max_wait_us = HOURS(1);
    must_add(box, &limited);
    add(box, "ready", "default");
    add_held(box, "held");
    change(box, add_held(box, "held_changed").id,
           &(struct job_change){ .has_run_at = true, .run_at = box->world.wall + HOURS(2) });
    struct job_change moved = {
        .has_queue = true,
        .queue = S("q:exports"),
        .has_priority = true,
        .priority = -5,
    };
    change(box, add(box, "changed", "default").id, &moved);
    add(box, "backoff", "default");
    fail_job(box, "backoff", ERROR_TRANSIENT);
}

// One that waits, one whose wait is over, one that is held and will fail; and two batches.
static void links(struct box *box)
{
    struct id awaited = add(box, "awaited", "default").id, over = add(box, "over", "default").id;
    struct id lost = add(box, "lost", "default").id;
    struct contract waits = contract_for(box, "waits"), waited = contract_for(box, "waited");
    struct contract doomed = contract_for(box, "doomed"), failed = contract_for(box, "failed_with");
    waits.after = &awaited;
    waited.after = &over;
    doomed.after = failed.after = &lost;
    waits.after_count = waited.after_count = doomed.after_count = failed.after_count = 1;
    doomed.hold = true;
    must_add(box, &waits);
    must_add(box, &waited);
    must_add(box, &doomed);
    must_add(box, &failed);
    struct lease lease = take(box, "over", true);
    must_commit(box, &lease);
    fail_job(box, "lost", ERROR_VALIDATION);
    add_batch(box, "batch_open", "callback_later");
    add_batch(box, "batch_over", "callback");
    lease = take(box, "batch_over", true);
    must_commit(box, &lease);
}

static void serial_keys(struct box *box)
{
    add_serial(box, "serial_running", "K");
    take(box, "serial_running", true);
    add_serial(box, "serial_blocked", "K");
    add_serial(box, "serial_ready", "R");
    add_serial(box, "serial_second", "R");
    struct str org_id = box->caller.org_id;
    box->caller.org_id = other_org;
    add_serial(box, "other_org", "K");
    add(box, "other_org_running", "default");
    take(box, "other_org_running", true);
    box->caller.org_id = org_id;
}

static void at_work(struct box *box)
{
    struct execution e;
    struct step step;
    add(box, "leased", "default");
    take(box, "leased", false);
    add(box, "running", "default");
    struct lease lease = take(box, "running", true);
    OK(step_put(tx, &lease, S("load"), S("{\"rows\":3}"), &step, err));
    OK(step_fail(tx, &lease, S("store"), S("no luck"), &step, err));
    OK(execution_progress(tx, &lease, &(struct progress){ 40, S("storing") }, &e, err));
}

// One key that is good and one that was revoked, of an org that nobody has used before.
static void api_keys(struct box *box)
{
    static const struct str projects[] = { { "00000000-0000-7000-8000-0000000000a1", 36 } };
    struct key_request request = {
        .world = &box->world.world,
        .env = S("test"),
        .org_id = S("00000000-0000-7000-8000-00000000000c"),
        .role = ROLE_WORKER,
        .projects = projects,
        .project_count = 1,
    };
    struct str org_id = box->caller.org_id;
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    box->caller.org_id = request.org_id;
    OK(key_create(tx, &request, &key, text, err));
    OK(key_create(tx, &request, &key, text, err));
    OK_FROM(key, key_revoke(tx, key.key_id, &key, err));
    box->caller.org_id = org_id;
}

// A slot that is over, and one whose job waits.
static void slots(struct box *box)
{
    static const char *const types[] = { "slot_over", "slot_waits" };
    for (size_t i = 0; i < countof(types); i++) {
        enum schedule_put what;
        struct job job;
        struct schedule s = {
            .name = str_of(types[i]),
            .job_type = str_of(types[i]),
            .every_us = DAYS(1),
            .coalesce_said = true,
            .misfire_grace_us = DAYS(1),
            .max_instances = 1,
            .expected_us = DAYS(1),
            .queue = S("q:exports"),
        };
        OK(schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
        OK(slot_trigger(tx, s.name, SECONDS(1800000000), &job, err));
    }
    struct lease lease = take(box, "slot_over", true);
    must_commit(box, &lease);
}

// A job that has an input and an output, and an artifact of no job.
static void artifacts(struct box *box)
{
    struct artifact input = must_store(box, "in"), output = must_store(box, "out");
    struct contract contract = contract_with(box, "import", "transfer");
    contract.payload = str_format(test_arena(), "{\"input\":{\"artifact_id\":\"%.*s\"}}",
                                  STR(id_text(test_arena(), input.id)));
    must_add(box, &contract);
    struct lease lease = take(box, "import", true);
    struct commit commit = { .outputs = { .ids = &output.id, .count = 1 }, .done = true };
    struct execution e;
    OK(execution_commit(tx, &lease, &commit, &e, err));
}

// One that runs under a limit, and one that waits for its key.
static void limits(struct box *box)
{
    struct limit limit = { .max_running = 1, .rate = { 10, MINUTES(1), 10 } };
    struct contract contract = contract_for(box, "at_limit");
    contract.limit_key = S("acme");
    OK(limit_set(tx, LIMIT_KEY, S("at_limit"), &limit, S(""), err));
    must_add(box, &contract);
    must_add(box, &contract);
    (void)take(box, "at_limit", true);
    struct str type = S("at_limit");
    struct claim again = {
        .worker = worker_named("W"),
        .every_queue = true,
        .limit = 1,
        .job_types = &type,
        .job_type_count = 1,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    OK(execution_claim(tx, &again, &claimed, &count, err));
    EXPECT_INT(count, 0);
}

// Two of them over the trail so far; what comes after is not sealed yet.
static void seals(struct box *box)
{
    struct seals sealed = {0};
    OK(seals_make(tx, 1, true, &sealed, err) && seals_put(tx, &sealed, err));
    must_enqueue(box, "after_a_seal");
    OK(seals_make(tx, 1, true, &sealed, err) && seals_put(tx, &sealed, err));
}

void rich_store(struct box *box)
{
    keys(box);
    bad_ends(box);
    after_a_restart(box);
    cancellations(box);
    retries(box);
    good_ends(box);
    waiting(box);
    serial_keys(box);
    links(box);
    at_work(box);
    api_keys(box);
    slots(box);
    artifacts(box);
    limits(box);
    seals(box);
}
