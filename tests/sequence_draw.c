// Draws operations and their arguments, and does each on both sides.
#include "sequence.h"

#include "engine/finish.h"

enum { JOBS_WANTED = 10, JOBS_ENOUGH = 20 };

static const struct str queues[] = {
    { "q:critical", 10 }, { "q:default", 9 }, { "q:notifications", 15 }, { "q:planning", 10 },
    { "q:exports", 9 }, { "q:maintenance", 13 }, { "q:own", 5 },
};
static const struct str types[] = { { "mail", 4 }, { "report", 6 }, { "index", 5 } };
static const struct str step_names[REF_STEPS] = { { "fetch", 5 }, { "parse", 5 } };
static const struct str results[] = { { "", 0 }, { "{\"n\":1}", 7 }, { "{\"n\":2}", 7 } };

#define ONE_OF(s, list) ((list)[pick((s), countof(list))])

// ----- jobs

static struct policy some_policy(struct sequence *s)
{
    const struct policy *builtin = policy_builtin_at(pick(s, 10));
    bool plans = str_eq(builtin->name, S("planning"));  // needs artifacts, which are not drawn
    if (chance(s, 40) && !plans)
        return *builtin;
    static const int64_t bases[] = { 0, MILLISECONDS(10), SECONDS(1), SECONDS(5) };
    static const int64_t ttls[] = { 0, MINUTES(1), HOURS(1), DAYS(7) };
    static const int64_t leases[] = { SECONDS(1), SECONDS(5), SECONDS(30) };
    static const int64_t timeouts[] = { MILLISECONDS(1), SECONDS(2), SECONDS(30), MINUTES(10) };
    struct policy policy = *policy_builtin(S("default"));
    policy.name = S("own");
    policy.max_attempts = between(s, 1, 4);
    policy.step_attempts = between(s, 1, 3);
    policy.exponential = chance(s, 50);
    policy.jitter = chance(s, 50);
    policy.base_us = ONE_OF(s, bases);
    policy.delay_us_max = policy.base_us * between(s, 1, 8);
    policy.timeout_us = ONE_OF(s, timeouts);
    policy.lease_us = ONE_OF(s, leases);
    policy.on_crash = chance(s, 70) ? ON_CRASH_RETRY : ON_CRASH_FAIL;
    policy.on_timeout = (enum on_timeout)pick(s, 3);
    policy.dead_letter = chance(s, 50);
    policy.key_ttl_us = ONE_OF(s, ttls);
    return policy;
}

static struct str some_key(struct sequence *s)
{
    static const char *const keys[] = { "a", "b", "a#1", "a#2" };
    if (chance(s, 40))
        return S("");
    return str_format(&s->arena, "%llu/%s", (unsigned long long)s->seed, ONE_OF(s, keys));
}

static pawl_time some_time(struct sequence *s)
{
    static const int64_t spans[] = { 1, MILLISECONDS(5), SECONDS(3), MINUTES(5), HOURS(2) };
    return s->match.model.now + between(s, 0, ONE_OF(s, spans)) - (chance(s, 10) ? SECONDS(70) : 0)
         - (chance(s, 10) ? SECONDS(30) : 0);
}

static struct contract some_contract(struct sequence *s, struct str org)
{
    struct contract c = contract_for(s->box, "report");
    c.org_id = org;
    c.job_type = ONE_OF(s, types);
    c.policy = some_policy(s);
    c.queue = chance(s, 70) ? c.policy.queue : ONE_OF(s, queues);
    c.idempotency_key = some_key(s);
    c.payload = chance(s, 80) ? S("{}") : S("{\"n\":1}");
    if (chance(s, 20))
        c.project_id = S("00000000-0000-7000-8000-0000000000aa");
    if (chance(s, 50))
        c.serial_key = str_format(&s->arena, "%llu/%s", (unsigned long long)s->seed,
                                  chance(s, 70) ? "x" : "y");
    if (chance(s, 20))
        c.scheduled_for = some_time(s);
    if (chance(s, 20))
        c.max_wait_us = between(s, MILLISECONDS(1), chance(s, 50) ? SECONDS(20) : MINUTES(10));
    if (chance(s, 40))
        c.priority = between(s, -2, 2);
    c.hold = chance(s, 12);
    return c;
}

static void do_claim(struct sequence *s);

static void do_enqueue(struct sequence *s)
{
    if (s->match.model.job_count >= JOBS_WANTED && chance(s, 90)) {
        do_claim(s);
        return;
    }
    struct str org = chance(s, 85) ? orgs[0] : orgs[1];
    struct tx *tx = moment(s, org);
    struct contract contract = some_contract(s, org);
    struct job job;
    bool deduplicated = false, expected = false;
    size_t before = s->match.model.job_count;
    bool done = job_enqueue(tx, &contract, &job, &deduplicated, &s->match.err);
    answered(s, "enqueue", done,
             ref_enqueue(&s->match.model, &contract, &s->match.focus, &expected));
    if (!done || s->match.unlike)
        return;
    if (deduplicated != expected)
        differ(&s->match, "enqueue: deduplicated or not");
    if (s->match.model.job_count > before)
        adopt_job(&s->match, s->match.focus, &job);
    if (!id_eq(s->match.model.jobs[s->match.focus].id, job.id))
        differ(&s->match, "enqueue: another job");
}

// One of the jobs, or one that does not exist; often in the name of its org.
static struct id some_job(struct sequence *s)
{
    moment(s, orgs[0]);
    if (s->match.model.job_count == 0 || chance(s, 2))
        return (struct id){ between(s, 1, INT32_MAX), 1 };
    s->match.focus = pick(s, s->match.model.job_count);
    const struct ref_job *job = &s->match.model.jobs[s->match.focus];
    struct str org = job->contract.org_id;
    if (chance(s, 10))
        org = chance(s, 50) ? S("") : ONE_OF(s, orgs);
    moment(s, org);
    return job->id;
}

static void on_some_job(struct sequence *s, const char *what,
                        bool (*act)(struct tx *, struct id, struct job *, struct pawl_error *),
                        enum pawl_code (*model)(struct reference *, struct id))
{
    struct id id = some_job(s);
    struct job job;
    bool done = act(&s->tx, id, &job, &s->match.err);
    answered(s, what, done, model(&s->match.model, id));
}

static void do_submit(struct sequence *s)
{
    on_some_job(s, "submit", job_submit, ref_submit);
}

static void do_cancel(struct sequence *s)
{
    on_some_job(s, "cancel", job_cancel, ref_cancel);
}

static void do_finish_end(struct sequence *s)
{
    on_some_job(s, "finish end", finish_end, ref_finish_end);
}

static void do_change(struct sequence *s)
{
    struct id id = some_job(s);
    struct job job;
    struct job_change change = {
        .has_run_at = chance(s, 40),
        .has_priority = chance(s, 40),
        .has_queue = chance(s, 40),
        .run_at = some_time(s),
        .priority = chance(s, 95) ? between(s, -2, 2) : 101,
        .queue = chance(s, 95) ? ONE_OF(s, queues) : S("q:deadletter"),
    };
    bool done = job_change(&s->tx, id, &change, &job, &s->match.err);
    answered(s, "change", done, ref_change(&s->match.model, id, &change));
}

static void do_retry(struct sequence *s)
{
    struct id id = some_job(s);
    struct job job;
    size_t before = s->match.model.job_count;
    if (before >= JOBS_ENOUGH)
        return;
    bool done = job_retry(&s->tx, id, &job, &s->match.err);
    answered(s, "retry", done, ref_retry(&s->match.model, id));
    if (done && !s->match.unlike)
        adopt_job(&s->match, before, &job);
}

// ----- claims

static void give(struct sequence *s, const struct claim *claim, const struct claimed *claimed,
                 size_t index)
{
    struct ref_execution *e = &s->match.model.executions[index];
    bool finish = e->status == EXECUTION_COMMITTED;
    if (e->id.high == 0)
        e->id = claimed->execution.id;
    if (!id_eq(claimed->job.id, s->match.model.jobs[e->job].id)
        || !id_eq(claimed->execution.id, e->id))
        differ(&s->match, "claim: it took job %llx, not job %zu", (long long)claimed->job.id.high,
               e->job);
    if (claimed->finish != finish || claimed->execution.attempt != e->attempt)
        differ(&s->match, "claim: job %zu, another phase or attempt", e->job);
    if (s->verbose)
        print_message("      takes job %zu attempt %lld%s\n", e->job, (long long)e->attempt,
                      finish ? " to finish it" : "");
    s->given[s->given_count++] = (struct given){ lease_of(&claimed->execution, &claim->worker),
                                                 s->match.model.org };
}

void claim_with(struct sequence *s, const struct claim *claim)
{
    struct claimed *claimed = NULL;
    size_t taken[REF_JOBS_MAX], count = 0, expected = 0;
    if (s->given_count + claim->limit > SEQUENCE_LEASES_MAX)
        return;
    bool done = execution_claim(&s->tx, claim, &claimed, &count, &s->match.err);
    answered(s, "claim", done, ref_claim(&s->match.model, claim, taken, &expected));
    if (!done || s->match.unlike)
        return;
    if (count != expected)
        differ(&s->match, "claim: it took %zu, not %zu", count, expected);
    for (size_t i = 0; i < count && !s->match.unlike; i++)
        give(s, claim, &claimed[i], taken[i]);
}

static void do_claim(struct sequence *s)
{
    static const int64_t leases[] = { 0, 0, 0, MILLISECONDS(1), SECONDS(2), DAYS(1) };
    struct str asked[countof(queues)], types_asked[4];
    struct claim claim = {
        .worker = s->workers[pick(s, SEQUENCE_WORKERS)],
        .queues = asked,
        .in_order = true,
        .job_types = types_asked,
        .limit = 1 + pick(s, 4),
        .lease_us = ONE_OF(s, leases),
        .start = chance(s, 60),
    };
    size_t first = pick(s, countof(queues));
    claim.queue_count = chance(s, 60) ? countof(queues) : 1 + pick(s, 2);
    for (size_t i = 0; i < claim.queue_count; i++)
        asked[i] = queues[(first + i) % countof(queues)];
    for (; chance(s, 30) && claim.job_type_count < countof(types_asked); claim.job_type_count++)
        types_asked[claim.job_type_count] = ONE_OF(s, types);
    if (chance(s, 2))
        claim.limit = chance(s, 50) ? 0 : 1001;
    if (chance(s, 2))
        asked[0] = S("q:deadletter");
    moment(s, chance(s, 70) ? orgs[0] : chance(s, 50) ? orgs[1]
                                                      : S(""));
    claim_with(s, &claim);
}

// ----- work

// Whether the lease was alive when last seen; the model knows more.
static bool seems_live(struct sequence *s, const struct given *given)
{
    for (size_t i = 0; i < s->match.model.execution_count; i++) {
        const struct ref_execution *e = &s->match.model.executions[i];
        if (id_eq(e->id, given->lease.execution)) {
            s->match.focus = e->job;
            return e->status != EXECUTION_DONE && e->status != EXECUTION_ABORTED;
        }
    }
    return false;
}

// A lease that was given, mostly one that lives, mostly shown by the one who has it.
static struct lease some_lease(struct sequence *s)
{
    size_t count = s->given_count;
    moment(s, orgs[0]);
    if (count == 0)
        return (struct lease){ { 1, 1 }, 1, s->workers[0] };
    struct given given = s->given[pick(s, count)];
    for (int i = 0; i < 8 && !seems_live(s, &given); i++)
        given = s->given[pick(s, count)];
    seems_live(s, &given);
    moment(s, given.org);
    if (chance(s, 88))
        return given.lease;
    switch (pick(s, 5)) {
    case 0:
        given.lease.worker = s->workers[pick(s, SEQUENCE_WORKERS)];
        break;
    case 1:
        given.lease.attempt += chance(s, 50) ? 1 : -1;
        break;
    case 2:
        moment(s, ONE_OF(s, orgs));
        break;
    case 3:
        moment(s, S(""));
        break;
    default:
        given.lease.execution.low++;
    }
    return given.lease;
}

static void do_start(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct execution e;
    bool done = execution_start(&s->tx, &lease, &e, &s->match.err);
    answered(s, "start", done, ref_start(&s->match.model, &lease));
}

static void do_heartbeat(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct progress progress = { .percent = between(s, 0, chance(s, 95) ? 100 : 102),
                                 .message = S("on the way") };
    const struct progress *with = chance(s, 30) ? &progress : NULL;
    struct execution e;
    bool done = execution_heartbeat(&s->tx, &lease, with, &e, &s->match.err);
    answered(s, "heartbeat", done, ref_heartbeat(&s->match.model, &lease, with, true));
}

static void do_progress(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct progress progress = { .percent = between(s, -1, 100) };
    struct execution e;
    bool done = execution_progress(&s->tx, &lease, &progress, &e, &s->match.err);
    answered(s, "progress", done, ref_heartbeat(&s->match.model, &lease, &progress, false));
}

static bool is_held(const struct holding *held, size_t count, struct id id)
{
    return count > 0 && (id_eq(held->execution, id) || is_held(held + 1, count - 1, id));
}

// Everything one worker holds: what the model would renew, and nothing else.
static void do_renew(struct sequence *s)
{
    struct worker w = some_lease(s).worker;
    struct holding *held = NULL;
    size_t count = 0, expected = 0;
    answered(s, "renew", executions_renew(&s->tx, &w, &held, &count, &s->match.err), PAWL_OK);
    for (size_t i = 0; i < s->given_count; i++) {
        const struct lease *l = &s->given[i].lease;
        if (!str_eq(l->worker.worker_id, w.worker_id) || !str_eq(l->worker.boot_id, w.boot_id))
            continue;
        bool renewed = ref_heartbeat(&s->match.model, l, NULL, true) == PAWL_OK;
        expected += renewed;
        if (renewed != is_held(held, count, l->execution))
            differ(&s->match, "renew: another set of leases");
    }
    if (expected < count)
        differ(&s->match, "renew: more than was given");
}

static void do_step(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct step step;
    size_t name = pick(s, REF_STEPS);
    struct str result = chance(s, 80) ? results[1] : results[2];
    switch (pick(s, 3)) {
    case 0: {
        bool done = step_get(&s->tx, &lease, step_names[name], &step, &s->match.err);
        answered(s, "step get", done, ref_step_get(&s->match.model, &lease));
        if (!done)  // the lease may be of no job at all
            break;
        const struct ref_step *model = &s->match.model.jobs[s->match.focus].steps[name];
        if (step.done != model->done || !str_eq(step.result, model->result))
            differ(&s->match, "step get: another result");
        break;
    }
    case 1: {
        bool done = step_put(&s->tx, &lease, step_names[name], result, &step, &s->match.err);
        answered(s, "step put", done, ref_step_put(&s->match.model, &lease, name, result));
        break;
    }
    default: {
        bool done = step_fail(&s->tx, &lease, step_names[name], S("no luck"), &step, &s->match.err);
        answered(s, "step fail", done, ref_step_fail(&s->match.model, &lease, name));
    }
    }
}

// The application's own row; with a `self` it changes its mind afterwards.
static bool write_effect(struct tx *tx, void *self, struct pawl_error *err)
{
    if (!tx_execute(tx, "INSERT INTO effects DEFAULT VALUES", err))
        return false;
    return !self || fail(err, PAWL_CONFLICT, "the application refuses");
}

static bool moved(struct sequence *s, const struct lease *lease, enum execution_status before)
{
    return before == EXECUTION_IN_PROGRESS && s->match.code == PAWL_OK
        && id_eq(ref_newest(&s->match.model, s->match.focus)->id, lease->execution);
}

void commit_with(struct sequence *s, const struct lease *lease, const struct commit *commit)
{
    struct execution e;
    const struct ref_execution *newest =
        s->given_count ? ref_newest(&s->match.model, s->match.focus) : NULL;
    enum execution_status before = newest ? newest->status : EXECUTION_LEASED;
    size_t jobs = s->match.model.job_count;
    enum pawl_code apply = PAWL_OK;
    if (str_eq(commit->result, S("{")))
        apply = PAWL_INVALID;
    else if (commit->self)
        apply = PAWL_CONFLICT;
    bool done = execution_commit(&s->tx, lease, commit, &e, &s->match.err);
    answered(s, "commit", done, ref_commit(&s->match.model, lease, commit, apply));
    if (commit->apply && !s->match.unlike && moved(s, lease, before))
        s->effects++;
    adopt_newest(&s->match, s->match.model.job_count - jobs);
}

static void do_commit(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct str note = S("{\"seen\":true}");
    struct contract follow_ups[2];
    struct commit commit = {
        .result = ONE_OF(s, results),
        .done = chance(s, 30),
        .annotations = &note,
        .annotation_count = chance(s, 10),
        .follow_ups = follow_ups,
    };
    commit.finish = !commit.done && chance(s, 60);
    if (chance(s, 2))
        commit.result = S("{");
    if (chance(s, 15) && s->given_count && s->match.model.job_count < JOBS_ENOUGH) {
        commit.follow_up_count = 1 + pick(s, 2);
        for (size_t i = 0; i < commit.follow_up_count; i++) {
            follow_ups[i] = some_contract(s, s->match.model.jobs[s->match.focus].contract.org_id);
            follow_ups[i].scheduled_for = 0;
        }
    }
    if (chance(s, 20)) {
        commit.apply = write_effect;
        commit.self = chance(s, 30) ? s : NULL;
    }
    commit_with(s, &lease, &commit);
}

static void do_done(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct execution e;
    bool done = execution_done(&s->tx, &lease, &e, &s->match.err);
    answered(s, "done", done, ref_done(&s->match.model, &lease));
}

void fail_with(struct sequence *s, const struct lease *lease, const struct work_error *error)
{
    struct execution e;
    bool done = execution_fail(&s->tx, lease, error, &e, &s->match.err);
    answered(s, "fail", done, ref_fail(&s->match.model, lease, error));
    adopt_finish(&s->match);
}

static void do_fail(struct sequence *s)
{
    static const int64_t waits[] = { 0, 0, 0, SECONDS(2), HOURS(1), HOURS(30) };
    struct lease lease = some_lease(s);
    struct work_error error = {
        .class = chance(s, 50) ? ERROR_TRANSIENT : (enum error_class)pick(s, ERROR_CLASSES),
        .message = S("it did not work"),
        .retry_after_us = ONE_OF(s, waits),
    };
    fail_with(s, &lease, &error);
}

static void do_release(struct sequence *s)
{
    struct lease lease = some_lease(s);
    struct execution e;
    bool done = execution_release(&s->tx, &lease, &e, &s->match.err);
    answered(s, "release", done, ref_release(&s->match.model, &lease));
}

// ----- time

void sweep_with(struct sequence *s, size_t limit)
{
    struct swept swept = {0};
    moment(s, S(""));
    bool done = sweep(&s->tx, limit, &swept, &s->match.err);
    struct swept expected = ref_sweep(&s->match.model, limit);
    answered(s, "sweep", done, PAWL_OK);
    if (swept.expired != expected.expired || swept.timed_out != expected.timed_out
        || swept.finished != expected.finished || swept.due != expected.due
        || swept.gave_up != expected.gave_up || swept.more != expected.more)
        differ(&s->match,
               "sweep: expired, timed out, finished, due, gave up, more: %zu %zu %zu %zu %zu %d,"
                  " not %zu %zu %zu %zu %zu %d",
               swept.expired, swept.timed_out, swept.finished,
               swept.due, swept.gave_up, swept.more, expected.expired, expected.timed_out,
               expected.finished, expected.due, expected.gave_up, expected.more);
    compare_all(s, false);  // learns what the dice said
    adopt_finish(&s->match);
    if (!s->match.unlike && swept.next != ref_next(&s->match.model, false))
        differ(&s->match, "sweep: next in %lld us, not %lld",
               (long long)(swept.next - s->match.model.now),
               (long long)(ref_next(&s->match.model, false) - s->match.model.now));
}

static void do_sweep(struct sequence *s)
{
    sweep_with(s, chance(s, 30) ? 1 + pick(s, 2) : 1000);
}

// The first instance starts again, and mostly looks for what it left behind.
static void do_boot(struct sequence *s)
{
    size_t limit = chance(s, 30) ? 1 : 1000;
    if (chance(s, 80))
        s->workers[0].boot_id = s->workers[1].boot_id =
            str_format(&s->arena, "boot-%llu-%lld", (unsigned long long)s->seed,
                       (long long)++s->boots);
    struct instance instance = { S("one"), s->workers[0].boot_id };
    struct recovered recovered = {0};
    moment(s, S(""));
    bool done = boot_recover(&s->tx, &instance, limit, &recovered, &s->match.err);
    struct recovered expected = ref_recover(&s->match.model, &instance, limit);
    answered(s, "boot", done, PAWL_OK);
    if (recovered.ended != expected.ended || recovered.finished != expected.finished
        || recovered.more != expected.more)
        differ(&s->match, "boot: %zu ended and %zu finished, not %zu and %zu", recovered.ended,
               recovered.finished, expected.ended, expected.finished);
    adopt_finish(&s->match);
}

void pass_to(struct sequence *s, pawl_time time)
{
    int64_t us = time - s->box->world.wall;
    moment_over(s);
    if (us > 0)
        pass(s->box, us);
}

// Often to the very microsecond at which something happens, or one beside it.
static void do_pass(struct sequence *s)
{
    static const int64_t spans[] = { MILLISECONDS(1), MILLISECONDS(20), MILLISECONDS(700),
                                     SECONDS(5), SECONDS(40), MINUTES(15), HOURS(3), DAYS(8) };
    pawl_time next = ref_next(&s->match.model, true);
    size_t reach = chance(s, 3) ? countof(spans) : countof(spans) - (chance(s, 60) ? 4 : 2);
    if (next && chance(s, 40))
        pass_to(s, next + between(s, -1, 1));
    else
        pass_to(s, s->box->world.wall + between(s, 1, spans[pick(s, reach)]));
}

static void do_set_back(struct sequence *s)
{
    int64_t us = between(s, 1, chance(s, 80) ? SECONDS(10) : MINUTES(10));
    moment_over(s);
    world_jump(&s->box->world, -us);
    s->set_back_us += us;
}

static const struct {
    size_t weight;
    void (*act)(struct sequence *s);
} operations[] = {
    { 18, do_enqueue }, { 3, do_submit },
    { 4, do_cancel }, { 1, do_finish_end },
    { 6, do_change }, { 4, do_retry },
    { 22, do_claim }, { 8, do_start },
    { 5, do_heartbeat }, { 2, do_progress },
    { 2, do_renew }, { 6, do_step },
    { 14, do_commit }, { 6, do_done },
    { 12, do_fail }, { 6, do_release },
    { 12, do_sweep }, { 3, do_boot },
    { 16, do_pass }, { 1, do_set_back },
};

// A sequence begins with jobs to work on.
void operate(struct sequence *s)
{
    size_t total = 0;
    for (size_t i = 0; i < countof(operations); i++)
        total += operations[i].weight;
    size_t drawn = pick(s, total), chosen = 0;
    for (; drawn >= operations[chosen].weight; chosen++)
        drawn -= operations[chosen].weight;
    s->match.code = PAWL_OK;
    s->match.focus = SIZE_MAX;
    s->operations++;
    (s->operations <= 3 ? do_enqueue : operations[chosen].act)(s);
}
