// The matrix of tenants: every operation by every guise of a caller. What is another org's, or
// another project's of the same org, is not found, in the words for an id that never was, and
// nothing changes.
#include "fixture.h"

#include <string.h>

#include "engine/explain.h"
#include "engine/finish.h"

static const struct str org_a = { "00000000-0000-7000-8000-000000000000", 36 };
static const struct str org_b = { "00000000-0000-7000-8000-0000000000bb", 36 };
static const struct str projects[] = { { "00000000-0000-7000-8000-0000000000a1", 36 },
                                       { "00000000-0000-7000-8000-0000000000a2", 36 },
                                       { "00000000-0000-7000-8000-0000000000a3", 36 } };

// ----- guises

static const struct guise {
    const char *name;
    bool other_org;
    const struct str *projects;
    size_t project_count;
    bool sees;  // the job, which is of org A and of the first project
} guises[] = {
    { "its own org", false, NULL, 0, true },
    { "its own project", false, &projects[0], 1, true },
    { "its own project among others", false, &projects[0], 3, true },
    { "another org", true, NULL, 0, false },
    { "another org, the same project", true, &projects[0], 1, false },
    { "another project", false, &projects[1], 1, false },
    { "other projects", false, &projects[1], 2, false },
};

static void appear(struct box *box, const struct guise *guise)
{
    box->caller.org_id = guise->other_org ? org_b : org_a;
    box->caller.actor_type = ACTOR_API_KEY;
    box->caller.projects = guise->projects;
    box->caller.project_count = guise->project_count;
}

// ----- situations

struct scene {
    struct id job;
    struct lease lease;  // its execution; none in some situations
};

static struct job add(struct box *box, struct str project, bool hold)
{
    struct contract contract = contract_for(box, "work");
    contract.project_id = project;
    contract.hold = hold;
    return must_add(box, &contract);
}

static struct scene set_up(struct box *box, const char *situation)
{
    struct scene scene = { .job = add(box, projects[0], strcmp(situation, "held") == 0).id };
    struct execution e;
    if (strcmp(situation, "held") == 0 || strcmp(situation, "ready") == 0)
        return scene;
    if (strcmp(situation, "leased") == 0) {
        scene.lease = must_claim(box, "A");
        return scene;
    }
    scene.lease = must_start(box, "A");
    if (strcmp(situation, "ended") == 0)
        must_commit(box, &scene.lease);
    if (strcmp(situation, "finishing") == 0)
        OK(execution_commit(tx, &scene.lease, &(struct commit){ .finish = true }, &e, err));
    return scene;
}

// ----- operations

#define OF_JOB(name, call)                                                          \
    static bool name(struct tx *tx, const struct scene *s, struct pawl_error *err)  \
    {                                                                               \
        struct job job;                                                             \
        return call;                                                                \
    }
#define OF_EXECUTION(name, call)                                                    \
    static bool name(struct tx *tx, const struct scene *s, struct pawl_error *err)  \
    {                                                                               \
        struct execution e;                                                         \
        return call;                                                                \
    }
#define OF_STEP(name, call)                                                         \
    static bool name(struct tx *tx, const struct scene *s, struct pawl_error *err)  \
    {                                                                               \
        struct step step;                                                           \
        return call;                                                                \
    }

static const struct job_change raise = { .has_priority = true, .priority = 3 };
static const struct progress half = { .percent = 50 };
static const struct commit whole = { .done = true };
static const struct work_error transient = { .class = ERROR_TRANSIENT };

static bool do_explain(struct tx *tx, const struct scene *s, struct pawl_error *err)
{
    struct explanation explanation;
    return job_explain(tx, s->job, &explanation, err);
}

OF_JOB(do_load, job_load(tx, s->job, &job, err))
OF_JOB(do_submit, job_submit(tx, s->job, &job, err))
OF_JOB(do_cancel, job_cancel(tx, s->job, &job, err))
OF_JOB(do_change, job_change(tx, s->job, &raise, &job, err))
OF_JOB(do_retry, job_retry(tx, s->job, &job, err))
OF_JOB(do_finish_end, finish_end(tx, s->job, &job, err))
OF_EXECUTION(do_execution, execution_load(tx, s->lease.execution, &e, err))
OF_EXECUTION(do_start, execution_start(tx, &s->lease, &e, err))
OF_EXECUTION(do_heartbeat, execution_heartbeat(tx, &s->lease, NULL, &e, err))
OF_EXECUTION(do_beat_progress, execution_heartbeat(tx, &s->lease, &half, &e, err))
OF_EXECUTION(do_progress, execution_progress(tx, &s->lease, &half, &e, err))
OF_EXECUTION(do_commit, execution_commit(tx, &s->lease, &whole, &e, err))
OF_EXECUTION(do_done, execution_done(tx, &s->lease, &e, err))
OF_EXECUTION(do_fail, execution_fail(tx, &s->lease, &transient, &e, err))
OF_EXECUTION(do_release, execution_release(tx, &s->lease, &e, err))
OF_STEP(do_step_get, step_get(tx, &s->lease, S("fetch"), &step, err))
OF_STEP(do_step_put, step_put(tx, &s->lease, S("fetch"), S("1"), &step, err))
OF_STEP(do_step_fail, step_fail(tx, &s->lease, S("fetch"), S("no"), &step, err))

static bool do_audit(struct tx *tx, const struct scene *s, struct pawl_error *err)
{
    struct event_list list;
    struct event_filter filter = { .has_job = true, .job = s->job };
    return events_of_org(tx, &filter, &list, err);
}

static const struct operation {
    const char *name;
    const char *situations;
    bool (*act)(struct tx *tx, const struct scene *s, struct pawl_error *err);
} operations[] = {
    { "job_load", "held ready leased running finishing ended", do_load },
    { "job_explain", "held ready leased running finishing ended", do_explain },
    { "job_submit", "held", do_submit },
    { "job_cancel", "held ready leased running", do_cancel },
    { "job_change", "held ready", do_change },
    { "job_retry", "ended", do_retry },
    { "finish_end", "finishing", do_finish_end },
    { "events_of_org", "held ready leased running finishing ended", do_audit },
    { "execution_load", "leased running finishing ended", do_execution },
    { "execution_start", "leased running", do_start },
    { "execution_heartbeat", "leased running finishing", do_heartbeat },
    { "execution_heartbeat with progress", "running finishing", do_beat_progress },
    { "execution_progress", "running finishing", do_progress },
    { "execution_commit", "running ended", do_commit },
    { "execution_done", "finishing ended", do_done },
    { "execution_fail", "leased running finishing", do_fail },
    { "execution_release", "leased running finishing", do_release },
    { "step_get", "running", do_step_get },
    { "step_put", "running", do_step_put },
    { "step_fail", "running", do_step_fail },
};

// ----- the matrix

// The message with the id in it taken out.
static struct str without_id(const char *message, struct id id)
{
    struct str text = id_text(test_arena(), id);
    const char *at = strstr(message, str_cstr(test_arena(), text));
    EXPECT(at != NULL);
    return str_format(test_arena(), "%.*s ... %s", (int)(at - message), message, at + text.n);
}

struct trial {
    bool done;
    struct pawl_error err;
};

static struct trial attempt(struct box *box, const struct operation *o, const struct scene *scene)
{
    struct tx tx = {0};
    struct trial trial = {0};
    box_begin(box, &tx);
    trial.done = o->act(&tx, scene, &trial.err);
    box_commit(&tx);
    return trial;
}

static bool not_found(struct box *box, const struct operation *o, const struct scene *scene,
                      const struct trial *trial)
{
    struct scene nowhere = *scene;
    bool of_job = strncmp(o->name, "execution", 9) != 0 && strncmp(o->name, "step", 4) != 0;
    nowhere.job.low ^= 1;
    nowhere.lease.execution.low ^= 1;
    struct trial unknown = attempt(box, o, &nowhere);
    if (trial->done || unknown.done || trial->err.code != PAWL_NOT_FOUND
        || unknown.err.code != PAWL_NOT_FOUND)
        return false;
    return str_eq(without_id(trial->err.message, of_job ? scene->job : scene->lease.execution),
                  without_id(unknown.err.message, of_job ? nowhere.job : nowhere.lease.execution));
}

static bool as_expected(const struct operation *o, const char *situation, const struct guise *guise)
{
    struct box box;
    box_open(&box);
    struct scene scene = set_up(&box, situation);
    struct str before = box_contents(&box);
    appear(&box, guise);
    struct trial trial = attempt(&box, o, &scene);
    bool fine = guise->sees ? trial.done
                            : not_found(&box, o, &scene, &trial)
                    && str_eq(before, box_contents(&box));
    if (!fine)
        print_error("%s of a job that is %s, by %s: %s\n", o->name, situation, guise->name,
                    trial.done ? "done" : trial.err.message);
    box_close(&box);
    return fine;
}

TEST(OPS_18_what_is_anothers_is_not_found_and_not_changed)
{
    size_t wrong = 0, pairs = 0;
    for (size_t i = 0; i < countof(operations); i++) {
        struct str situation, rest = str_of(operations[i].situations);
        while (rest.n > 0) {
            str_cut(rest, ' ', &situation, &rest);
            const char *name = str_cstr(test_arena(), situation);
            for (size_t g = 0; g < countof(guises); g++, pairs++)
                wrong += !as_expected(&operations[i], name, &guises[g]);
        }
    }
    EXPECT_INT(wrong, 0);
    EXPECT(pairs > 250);
}

// ----- lists

// A job of the first project, one of the second, one of none, and one of another org: all alike.
static void four_jobs(struct box *box)
{
    for (size_t g = 0; g < 4; g++) {
        box->caller.org_id = g == 3 ? org_b : org_a;
        add(box, g < 2 ? projects[g] : S(""), false);
    }
    box->caller.org_id = org_a;
}

static const struct {
    struct guise guise;
    size_t sees;
} readers[] = {
    { { "an org", false, NULL, 0, true }, 3 },
    { { "another org", true, NULL, 0, true }, 1 },
    { { "one project", false, &projects[0], 1, true }, 1 },
    { { "two projects", false, &projects[0], 2, true }, 2 },
    { { "an empty project", false, &projects[2], 1, true }, 0 },
    { { "another org's", true, &projects[0], 1, true }, 0 },
};

TEST_EACH_DB(OPS_18_lists_show_only_what_the_caller_may_see)
{
    four_jobs(box);
    for (size_t i = 0; i < countof(readers); i++) {
        struct job_list jobs;
        struct event_list events;
        struct job_filter filter = {0};
        appear(box, &readers[i].guise);
        OK(job_find(tx, &filter, &jobs, err));
        EXPECT_INT(jobs.count, readers[i].sees);
        EXPECT_INT(jobs.next, 0);
        filter.project_id = projects[0];
        OK(job_find(tx, &filter, &jobs, err));
        EXPECT(jobs.count == 0 || caller_sees(&box->caller, projects[0]));
        filter = (struct job_filter){ .has_state = true, .state = JOB_QUEUED };
        OK(job_find(tx, &filter, &jobs, err));
        EXPECT_INT(jobs.count, readers[i].sees);
        OK(events_of_org(tx, &(struct event_filter){0}, &events, err));
        bool whole_org = box->caller.project_count == 0;  // which sees its own making too
        EXPECT_INT(events.count, readers[i].sees * 2 + whole_org);  // created and enqueued
        for (size_t k = 0; k < events.count; k++)
            EXPECT(str_eq(events.events[k].org_id, box->caller.org_id)
                   && caller_sees(&box->caller, events.events[k].project_id));
    }
}

TEST_EACH_DB(OPS_18_damage_to_anothers_job_is_not_told)
{
    struct job theirs = add(box, projects[0], false);
    struct job_list jobs;
    struct job job;
    box_sql(box, "DELETE FROM ready");
    box->damaged = true;
    OK(job_find(tx, &(struct job_filter){0}, &jobs, err));
    EXPECT_INT(jobs.damaged, 1);
    REFUSED(PAWL_DAMAGED, job_load(tx, theirs.id, &job, err));
    for (size_t g = 0; g < countof(guises); g++) {
        appear(box, &guises[g]);
        OK(job_find(tx, &(struct job_filter){0}, &jobs, err));
        EXPECT_INT(jobs.damaged, guises[g].sees);
        if (!guises[g].sees)
            REFUSED(PAWL_NOT_FOUND, job_load(tx, theirs.id, &job, err));
    }
}

TEST_EACH_DB(OPS_18_a_page_of_events_goes_on_where_the_last_one_ended)
{
    struct event_list list = {0};
    size_t seen = 0;
    for (int i = 0; i < 5; i++)
        four_jobs(box);
    box->caller.projects = projects;
    box->caller.project_count = 1;
    int64_t last = INT64_MAX;
    do {
        struct event_filter page = { .before = list.next, .limit = 3 };
        OK(events_of_org(tx, &page, &list, err));
        for (size_t i = 0; i < list.count; last = list.events[i++].id)
            EXPECT(list.events[i].id < last);
        seen += list.count;
    } while (list.next);
    EXPECT_INT(seen, 10);
    OK(events_of_org(tx, &(struct event_filter){ .event = EVENT_JOB_ENQUEUED }, &list, err));
    EXPECT_INT(list.count, 5);
    struct event_filter later = { .after = list.events[2].id };
    OK(events_of_org(tx, &later, &list, err));
    EXPECT(list.count > 0 && list.count < 10);
}

TEST_EACH_DB(OPS_18_what_is_of_no_org_is_shown_to_who_speaks_for_all)
{
    struct event_list list = {0};
    struct event_filter newest = { .of_store = true, .limit = 2 };
    four_jobs(box);
    for (int i = 0; i < 5; i++)
        OK(event_append_for(tx, 0, S("config"), EVENT_CONFIG_LOADED, S(""), err));
    four_jobs(box);
    box->caller = (struct caller){0};
    int64_t last = INT64_MAX;
    for (size_t seen = 0; seen < 4; seen += list.count, newest.before = list.next) {
        OK(events_of_org(tx, &newest, &list, err));
        EXPECT_INT(list.count, 2);
        for (size_t i = 0; i < list.count; last = list.events[i++].id)
            EXPECT(list.events[i].id < last && list.events[i].org_id.n == 0
                   && str_eq(list.events[i].subject, S("config")));
    }
    for (size_t g = 0; g < countof(guises); g++) {
        appear(box, &guises[g]);
        OK(events_of_org(tx, &(struct event_filter){ .of_store = true }, &list, err));
        EXPECT_INT(list.count, 0);
    }
}

// ----- claims

static size_t claim_as(struct box *box, const struct guise *guise, struct claimed **claimed)
{
    appear(box, guise);
    return claim_some(box, "W", 10, claimed);
}

TEST_EACH_DB(OPS_18_a_worker_leases_only_jobs_of_its_projects)
{
    struct claimed *claimed;
    const struct guise one = { "", false, &projects[0], 1, true };
    const struct guise empty = { "", false, &projects[2], 1, true };
    const struct guise foreign = { "", true, &projects[0], 1, true };
    four_jobs(box);
    EXPECT_INT(claim_as(box, &empty, &claimed), 0);
    EXPECT_INT(claim_as(box, &foreign, &claimed), 0);
    EXPECT_INT(claim_as(box, &one, &claimed), 1);
    EXPECT(str_eq(claimed[0].job.contract.project_id, projects[0]));
    EXPECT_INT(claim_as(box, &one, &claimed), 0);
    EXPECT_INT(claim_as(box, &guises[0], &claimed), 2);
}

TEST_EACH_DB(OPS_18_a_worker_of_several_projects_takes_the_oldest_of_all)
{
    struct claimed *claimed;
    struct id expected[6];
    const struct guise two = { "", false, &projects[0], 2, true };
    for (size_t i = 0; i < 6; i++)
        expected[i] = add(box, projects[i % 2], false).id;
    EXPECT_INT(claim_as(box, &two, &claimed), 6);
    for (size_t i = 0; i < 6; i++)
        EXPECT(id_eq(claimed[i].job.id, expected[i]));
}

// Of every way into `ready`: enqueued, tried again, next of its serial key, changed.
TEST_EACH_DB(OPS_18_a_job_keeps_its_project_wherever_it_waits)
{
    struct claimed *claimed;
    struct job job;
    const struct guise one = { "", false, &projects[0], 1, true };
    struct contract contract = contract_for(box, "work");
    contract.project_id = projects[0];
    contract.serial_key = S("K");
    must_add(box, &contract);
    must_add(box, &contract);
    EXPECT_INT(claim_as(box, &one, &claimed), 1);
    struct worker who = worker_named("W");
    struct lease lease = lease_of(&claimed[0].execution, &who);
    struct execution e;
    OK(execution_start(tx, &lease, &e, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(claim_as(box, &one, &claimed), 1);  // the second, which was blocked
    lease = lease_of(&claimed[0].execution, &who);
    OK(execution_release(tx, &lease, &e, err));
    OK(job_change(tx, claimed[0].job.id, &raise, &job, err));
    pass(box, HOURS(1));
    must_sweep(box);
    EXPECT_INT(claim_as(box, &one, &claimed), 1);
}

TEST_EACH_DB(OPS_18_a_thousand_jobs_of_others_do_not_hide_ones_own)
{
    struct claimed *claimed;
    const struct guise one = { "", false, &projects[1], 1, true };
    struct contract contract = contract_for(box, "work");
    struct tx tx = {0};
    struct pawl_error why = {0};
    box_begin(box, &tx);
    for (int i = 0; i < 1000; i++) {
        struct job job;
        bool known;
        contract.project_id = i % 2 ? projects[0] : S("");
        expect_done(job_enqueue(&tx, &contract, &job, &known, &why), &why, PLACE("enqueue"));
    }
    box_commit(&tx);
    struct id own = add(box, projects[1], false).id;
    EXPECT_INT(claim_as(box, &one, &claimed), 1);
    EXPECT(id_eq(claimed[0].job.id, own));
}

TEST_EACH_DB(OPS_18_a_commit_phase_is_leased_by_its_project_only)
{
    struct claimed *claimed;
    const struct guise one = { "", false, &projects[0], 1, true };
    const struct guise other = { "", false, &projects[1], 1, true };
    struct scene scene = set_up(box, "finishing");
    struct execution e;
    OK(execution_release(tx, &scene.lease, &e, err));
    EXPECT_INT(claim_as(box, &other, &claimed), 0);
    EXPECT_INT(claim_as(box, &one, &claimed), 1);
    EXPECT(claimed[0].finish);
}

// Two keys of one org may call their workers the same.
TEST_EACH_DB(OPS_18_renewing_everything_renews_nothing_of_others)
{
    struct worker who = worker_named("A");
    struct holding *holdings;
    size_t count;
    struct scene scene = set_up(box, "running");
    for (size_t g = 0; g < countof(guises); g++) {
        appear(box, &guises[g]);
        OK(executions_held(tx, &who, &holdings, &count, err));
        EXPECT_INT(count, guises[g].sees);
        pass(box, SECONDS(1));
        int64_t before = box_number(box, "SELECT lease_expires_at FROM executions");
        OK(executions_renew(tx, &who, &holdings, &count, err));
        EXPECT_INT(count, guises[g].sees);
        int64_t after = box_number(box, "SELECT lease_expires_at FROM executions");
        EXPECT((after > before) == guises[g].sees);
    }
    EXPECT(scene.lease.attempt == 1);
}

// ----- enqueueing

static struct str project_taken(struct box *box, struct str project)
{
    struct contract contract = contract_for(box, "work");
    contract.project_id = project;
    return must_add(box, &contract).contract.project_id;
}

TEST_EACH_DB(OPS_18_a_limited_key_enqueues_into_its_projects_only)
{
    struct job job;
    bool known;
    box->caller.projects = projects;
    box->caller.project_count = 1;
    EXPECT(str_eq(project_taken(box, S("")), projects[0]));
    EXPECT(str_eq(project_taken(box, projects[0]), projects[0]));
    struct contract contract = contract_for(box, "work");
    contract.project_id = projects[1];
    REFUSED(PAWL_INVALID, job_enqueue(tx, &contract, &job, &known, err));
    box->caller.project_count = 2;
    EXPECT(str_eq(project_taken(box, projects[1]), projects[1]));
    contract.project_id = S("");  // which of the two is not said
    REFUSED(PAWL_INVALID, job_enqueue(tx, &contract, &job, &known, err));
}

TEST_EACH_DB(OPS_10_a_key_enqueues_into_its_org_only)
{
    struct job job;
    bool known;
    box->caller.actor_type = ACTOR_API_KEY;
    struct contract contract = contract_for(box, "work");
    contract.org_id = org_b;
    REFUSED(PAWL_INVALID, job_enqueue(tx, &contract, &job, &known, err));
}

TEST_EACH_DB(OPS_18_a_follow_up_stays_within_the_projects_of_its_worker)
{
    struct execution e;
    struct scene scene = set_up(box, "running");
    appear(box, &guises[1]);
    struct contract follow_up = contract_for(box, "next");
    follow_up.project_id = projects[1];
    struct commit commit = { .follow_ups = &follow_up, .follow_up_count = 1, .done = true };
    REFUSED(PAWL_INVALID, execution_commit(tx, &scene.lease, &commit, &e, err));
    follow_up.project_id = S("");
    OK(execution_commit(tx, &scene.lease, &commit, &e, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_jobs WHERE job_type = 'next'"
                               " AND project_id LIKE '%a1'"),
               1);
}

TEST(OPS_18_the_contract_names_the_project_among_all_problems)
{
    struct pawl_error err = {0};
    json_t *object = NULL;
    struct contract contract;
    struct caller caller = {
        .org_id = org_a,
        .actor_id = S("k"),
        .request_id = S("r"),
        .correlation_id = S("c"),
        .projects = projects,
        .project_count = 2,
    };
    struct contract_rules rules = {
        .caller = &caller,
        .now = SECONDS(1800000000),
        .policy = policy_builtin_or_default,
    };
    struct problems problems = { .arena = test_arena() };
    struct str text = S("{\"job_type\": \"\", \"payload\": {}}");
    MUST(json_parse(text, text.n, &object, &err));
    EXPECT(!contract_read(object, &rules, "", &contract, &problems));
    EXPECT_INT(problems.count, 2);
    EXPECT_STR(problems.list[1].field, "project_id");
    json_decref(object);
}

// The same key in two projects is two jobs: neither learns of the other.
TEST_EACH_DB(OPS_18_idempotency_keys_of_other_projects_are_not_met)
{
    struct contract contract = contract_for(box, "work");
    contract.idempotency_key = S("once");
    box->caller.projects = projects;
    box->caller.project_count = 1;
    struct job first = must_add(box, &contract);
    box->caller.projects = projects + 1;
    contract.payload = S("{\"other\":1}");
    struct job second = must_add(box, &contract);
    EXPECT(!id_eq(first.id, second.id));
}
