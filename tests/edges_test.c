// Requests at the edges of what is allowed, and changes of many jobs at once.
#include "fixture.h"

#include <string.h>

#include "engine/api_key.h"
#include "engine/artifact.h"
#include "engine/job_bulk.h"

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
    static const char *const types[] = { "text", "/csv", "text/", "text/c\nsv", "text/\x80" };
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

// ----- keys

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
