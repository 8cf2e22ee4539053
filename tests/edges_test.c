// Requests at the edges of what is allowed, and changes of many jobs at once.
#include "fixture.h"

#include <string.h>

#include "artifacts.h"
#include "engine/api_key.h"
#include "engine/job_bulk.h"
#include "engine/log.h"

// ----- many jobs

static struct job_bulk change(struct box *box, struct job_bulk bulk)
{
    OK_FROM(bulk, jobs_change(tx, &bulk, err));
    return bulk;
}

TEST_EACH_DB(OPS_18_many_jobs_are_cancelled_and_those_that_cannot_be_are_left_out)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    must_enqueue(box, "report");
    lease = must_start(box, "A");
    must_enqueue(box, "report");
    must_enqueue(box, "other");
    struct job_bulk of_type = { .filter = { .job_type = S("report") } }, dry = of_type;
    dry.dry_run = true;
    EXPECT(!job_filter_names(&(struct job_filter){0}));
    EXPECT(job_filter_names(&of_type.filter));
    EXPECT_INT(change(box, dry).count, 2);
    EXPECT_INT(change(box, dry).count, 2);
    struct job_bulk cancelled = change(box, of_type);
    EXPECT_INT(cancelled.count, 2);
    EXPECT(cancelled.jobs[0].running != cancelled.jobs[1].running);
    EXPECT_INT(change(box, of_type).count, 1);  // asked once more, the one that runs
    of_type.filter.limit = 1;
    EXPECT_INT(change(box, of_type).count, 1);
}

TEST_EACH_DB(OPS_18_many_jobs_are_made_again_and_asking_once_more_makes_none)
{
    for (int i = 0; i < 2; i++) {
        struct job job = must_enqueue(box, "report");
        OK(job_cancel(tx, job.id, &job, err));
    }
    must_enqueue(box, "report");
    struct job_bulk again = {
        .filter = { .has_state = true, .state = JOB_FAILED, .job_type = S("report") },
        .retry = true,
    };
    EXPECT_INT(change(box, again).count, 2);
    EXPECT_INT(change(box, again).count, 0);
}

TEST_EACH_DB(OPS_18_what_is_changed_at_once_has_to_be_named)
{
    static const struct job_filter filters[] = {
        { .has_state = true },
        { .queue = { "q:default", 9 } },
        { .job_type = { "report", 6 } },
        { .serial_key = { "key", 3 } },
        { .correlation_id = { "id", 2 } },
        { .project_id = { "id", 2 } },
        { .batch = { .high = 1 } },
    };
    for (size_t i = 0; i < countof(filters); i++)
        EXPECT(job_filter_names(&filters[i]));
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_enqueue(box, "report");
    for (enum job_state state = 0; state < JOB_STATES; state++) {
        struct job_bulk bulk = { .filter = { .has_state = true, .state = state }, .dry_run = true };
        bool waits = state == JOB_QUEUED || state == JOB_RUNNING;
        EXPECT_INT(change(box, bulk).count, waits);
    }
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    struct job_bulk all = { .filter = { .queue = S("q:default") }, .dry_run = true };
    EXPECT_INT(change(box, all).count, 1);  // what is being finished cannot be cancelled
}

// ----- artifacts

static size_t problems_of(const struct caller *caller, struct artifact artifact)
{
    struct problems problems = { .arena = test_arena() };
    artifact_check(caller, &artifact, &problems);
    return problems.count;
}

static void fill(char *text, size_t bytes)
{
    memset(text, 'a', bytes - 1);
    text[bytes - 1] = '\0';
}

TEST(OPS_24_the_name_of_an_artifact_leads_into_no_directory)
{
    static const char *const names[] = { "a/b", "a\\b", ".", "..", "a\n" };
    char long_name[ARTIFACT_NAME_BYTES_MAX + 2];
    fill(long_name, sizeof long_name);
    EXPECT_INT(problems_of(NULL, (struct artifact){ .name = S("a.txt") }), 0);
    EXPECT_INT(problems_of(NULL, (struct artifact){ .name = str_of(long_name) }), 1);
    for (size_t i = 0; i < countof(names); i++)
        EXPECT_INT(problems_of(NULL, (struct artifact){ .name = str_of(names[i]) }), 1);
}

TEST(OPS_24_a_content_type_has_two_parts_that_can_be_printed)
{
    static const char *const types[] = { "text", "/csv", "text/", "text/c\nsv", "text/\x80",
                                         "text/\x7f" };
    char long_type[CONTENT_TYPE_BYTES_MAX + 2];
    fill(long_type, sizeof long_type);
    long_type[1] = '/';
    EXPECT_INT(problems_of(NULL, (struct artifact){ .content_type = S("text/csv") }), 0);
    EXPECT_INT(problems_of(NULL, (struct artifact){ .content_type = str_of(long_type) }), 1);
    for (size_t i = 0; i < countof(types); i++)
        EXPECT_INT(problems_of(NULL, (struct artifact){ .content_type = str_of(types[i]) }), 1);
}

TEST(OPS_24_an_artifact_of_a_limited_key_is_of_one_of_its_projects)
{
    const struct str projects[] = { S("01900000-0000-7000-8000-0000000000a1") };
    struct caller caller = { .projects = projects, .project_count = 1 };
    struct artifact other = { .project_id = S("01900000-0000-7000-8000-0000000000a2") };
    EXPECT_INT(problems_of(&caller, (struct artifact){0}), 0);
    EXPECT_INT(problems_of(&caller, other), 1);
    EXPECT_INT(problems_of(NULL, (struct artifact){ .project_id = S("a1") }), 1);
}

TEST_EACH_DB(OPS_24_a_page_of_artifacts_has_at_most_so_many)
{
    const int64_t limits[] = { 0, -1, INT64_MAX, 2 };
    struct artifact_list list;
    must_store(box, "one");
    must_store(box, "two");
    for (size_t i = 0; i < countof(limits); i++) {
        OK(artifacts_find(tx, 0, limits[i], &list, err));
        EXPECT_INT(list.count, 2);
    }
}

// ----- workers

static size_t problems_of_claim(struct claim claim)
{
    struct problems problems = { .arena = test_arena() };
    claim.every_queue = true;
    claim.limit = 1;
    claim_check(&claim, &problems);
    return problems.count;
}

TEST(EXEC_1_a_claim_names_workers_and_types_that_can_be)
{
    char long_type[NAME_BYTES_MAX + 2], long_worker[KEY_BYTES_MAX + 2];
    fill(long_type, sizeof long_type);
    fill(long_worker, sizeof long_worker);
    const struct str types[] = { S("report"), str_of(long_type), S(".report") };
    struct worker worker = worker_named("A"), too_long = { .worker_id = str_of(long_worker) };
    EXPECT_INT(problems_of_claim((struct claim){ .worker = worker }), 0);
    EXPECT_INT(problems_of_claim((struct claim){ .worker = too_long }), 1);
    EXPECT_INT(problems_of_claim((struct claim){0}), 1);
    for (size_t i = 0; i < countof(types); i++) {
        struct claim claim = { .worker = worker, .job_types = &types[i], .job_type_count = 1 };
        EXPECT_INT(problems_of_claim(claim), i > 0);
    }
}

// What is taken one after the other leaves its place at once, for so many types as are open.
TEST_EACH_DB(EXEC_1_a_claim_takes_of_many_types_in_turns)
{
    enum { TYPES = 20, JOBS = 3 * TYPES };
    struct claimed *claimed = NULL;
    for (int i = 0; i < JOBS; i++)
        must_enqueue(box, str_format(test_arena(), "type-%d", i % TYPES).s);
    EXPECT_INT(claim_some(box, "A", CLAIM_MAX, &claimed), JOBS);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
    for (size_t i = 1; i < JOBS; i++)
        EXPECT(claimed[i].job.id.high > claimed[i - 1].job.id.high);
}

TEST_EACH_DB(EXEC_1_what_a_worker_says_has_an_end)
{
    char long_text[PROGRESS_BYTES_MAX + 2];
    char *result = arena_new(test_arena(), char, PAYLOAD_BYTES_MAX + 3);
    struct execution e;
    EXPECT(result != NULL);
    fill(long_text, sizeof long_text);
    fill(result, PAYLOAD_BYTES_MAX + 3);
    result[0] = result[PAYLOAD_BYTES_MAX + 1] = '"';
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    REFUSED(PAWL_INVALID, execution_progress(tx, &lease,
                                             &(struct progress){ 5, str_of(long_text) }, &e, err));
    REFUSED(PAWL_INVALID, execution_commit(tx, &lease,
                                           &(struct commit){ .result = str_of(result) }, &e, err));
}

TEST_EACH_DB(EXEC_2_steps_and_lines_of_a_job_are_listed)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct step step, *steps = NULL;
    struct log_line line = { .text = S("said"), .at = 1 };
    struct log_page page = { .limit = 10 };
    size_t count = 0;
    OK(step_put(tx, &lease, S("one"), S("1"), &step, err));
    OK(steps_of_job(tx, job.id.high, &steps, &count, err));
    EXPECT_INT(count, 1);
    OK(log_append(tx, lease.execution, &line, 1, err));
    OK(log_append(tx, lease.execution, NULL, 0, err));
    struct id nobody = { lease.execution.high, lease.execution.low ^ 1 };
    REFUSED(PAWL_NOT_FOUND, log_append(tx, nobody, &line, 1, err));
    OK_FROM(page, logs_of_job(tx, job.id.high, &page, err));
    EXPECT_INT(page.count, 1);
}

static void work_without_asking_why(struct box *box, const struct instance *instance)
{
    struct instance nameless = { instance->name, S("") };
    struct recovered recovered;
    struct swept swept;
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT(sweep(&tx, 10, &swept, NULL));
    EXPECT(boot_recover(&tx, instance, 10, &recovered, NULL));
    EXPECT(!boot_recover(&tx, &nameless, 10, &recovered, NULL));
}

// Who does not ask why is told whether.
TEST_EACH_DB(OPS_9_the_clock_and_the_boot_work_for_who_does_not_ask_why)
{
    struct instance instance = { S("one"), S("boot") };
    OK(instance_enter(tx, &instance, true, err));
    must_enqueue(box, "report");
    work_without_asking_why(box, &instance);
    OK(instance_leave(tx, &instance, err));
    struct instance other = { S("one"), S("another boot") };
    OK(instance_leave(tx, &other, err));  // is not there, and so does not leave
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event ="
                               " 'instance.stopped'"),
               1);
}

// A process that did not learn that it had entered enters again.
TEST_EACH_DB(RUN_5_an_instance_may_enter_twice_and_is_told_of_once)
{
    struct instance instance = { S("one"), S("boot") }, other = { S("one"), S("another boot") };
    for (int i = 0; i < 2; i++)
        OK(instance_enter(tx, &instance, false, err));
    REFUSED(PAWL_CONFLICT, instance_enter(tx, &other, false, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event ="
                               " 'instance.started'"),
               1);
}

// Nor twice of one that left and did not learn of it.
TEST_EACH_DB(RUN_5_an_instance_may_leave_twice_and_is_told_of_once)
{
    struct instance instance = { S("one"), S("boot") };
    OK(instance_enter(tx, &instance, false, err));
    for (int i = 0; i < 2; i++)
        OK(instance_leave(tx, &instance, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event ="
                               " 'instance.stopped'"),
               1);
}

// A piece of nothing but damaged runs is the last one: the same would come again.
TEST_EACH_DB(RUN_5_a_recovery_of_damaged_runs_only_comes_to_an_end)
{
    struct instance instance = { S("test"), S("boot-2") };
    struct recovered recovered = {0};
    must_enqueue(box, "report");
    must_start(box, "A");
    box->damaged = true;
    box_sql(box, "INSERT INTO parked (job, org, reason) SELECT id, org, 'held' FROM jobs");
    OK(instance_enter(tx, &instance, true, err));
    OK(boot_recover(tx, &instance, 1, &recovered, err));
    EXPECT_INT(recovered.damaged, 1);
    EXPECT(!recovered.more);
}

TEST_EACH_DB(OPS_11_events_that_this_program_does_not_know_are_passed_over)
{
    struct event_list before, after;
    must_enqueue(box, "report");
    OK(events_of_org(tx, &(struct event_filter){0}, &before, err));
    box->damaged = true;
    box_sql(box, "INSERT INTO audit_events (org, job, event, attempt, at)"
                 " SELECT org, id, 999, 0, created_at FROM jobs");
    OK(events_of_org(tx, &(struct event_filter){ .limit = INT64_MAX }, &after, err));
    EXPECT_INT(after.count, before.count);
}

// ----- keys

TEST_EACH_DB(OPS_19_a_page_of_orgs_has_at_most_so_many)
{
    const int64_t limits[] = { 0, INT64_MAX, 1 };
    struct org_list list;
    must_enqueue(box, "report");
    for (size_t i = 0; i < countof(limits); i++) {
        OK(org_list(tx, 0, limits[i], &list, err));
        EXPECT_INT(list.count, 1);
    }
}

TEST_EACH_DB(OPS_10_a_key_with_too_much_or_too_long_is_refused)
{
    struct str projects[KEY_PROJECTS_MAX + 1];
    struct key_request request = {
        .world = &box->world.world,
        .org_id = box->caller.org_id,
        .role = ROLE_OPERATOR,
        .env = S("live"),
        .projects = projects,
    };
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key key;
    struct key_list list;
    for (size_t i = 0; i < countof(projects); i++)
        projects[i] = str_format(test_arena(), "01900000-0000-7000-8000-%012zu", i);
    request.project_count = KEY_PROJECTS_MAX;
    OK(key_create(tx, &request, &key, text, err));
    request.project_count = countof(projects);
    REFUSED(PAWL_INVALID, key_create(tx, &request, &key, text, err));
    request.project_count = 0;
    request.expires_at = box->world.wall + DAYS(4000);
    REFUSED(PAWL_INVALID, key_create(tx, &request, &key, text, err));
    request.expires_at = 0;
    request.name = S("a\nb");
    REFUSED(PAWL_INVALID, key_create(tx, &request, &key, text, err));
    REFUSED(PAWL_NOT_FOUND, key_revoke(tx, S("short"), &key, err));
    REFUSED(PAWL_NOT_FOUND, key_revoke(tx, S("0000000000"), &key, err));
    OK(key_list(tx, 0, 0, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT_INT(list.keys[0].project_count, KEY_PROJECTS_MAX);
    SCOPED(json) json_t *shown = key_json(test_arena(), &list.keys[0]);
    EXPECT_INT(json_array_size(json_object_get(shown, "projects")), KEY_PROJECTS_MAX);
}
