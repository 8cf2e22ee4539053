// A store of an earlier schema is brought up to date with everything that is in it.
#include "fixture.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "store/query.h"

// As the first version of the schema has it: two jobs, one of a project, with their events.
static const char first_version[] =
    "INSERT INTO store VALUES (1, '0123456789abcdef0123456789abcdef', 1);"
    "INSERT INTO orgs VALUES (1, '00000000-0000-7000-8000-000000000000', 1, NULL);"
    "INSERT INTO job_types VALUES (1, 'work', 1);"
    "INSERT INTO queues VALUES (1, 'q:default', 1, NULL);"
    "INSERT INTO policies VALUES (1, 'default', 'default', 'q:default', 3, 3, 1, 1, 1, 1, 1, 1,"
    "                             0, 0, 1, 1, 0);"
    "INSERT INTO jobs (id, id_low, org, type, queue, priority, policy, created_at,"
    "                  idempotency_key, project_id, actor_type, actor_id, request_id,"
    "                  correlation_id, payload)"
    "VALUES (7, 1, 1, 1, 1, 0, 1, 1, 'a', '00000000-0000-7000-8000-0000000000a1', 0, 'u', 'r',"
    "        'c', '{}'),"
    "       (8, 1, 1, 1, 1, 0, 1, 2, 'b', NULL, 0, 'u', 'r', 'c', '{}');"
    "INSERT INTO ready VALUES (1, 1, 1, 0, 7, 0, NULL), (1, 1, 1, 0, 8, 0, NULL);"
    "INSERT INTO audit_events (org, job, event, attempt, at, detail)"
    "VALUES (1, 7, 1, 0, 1, NULL), (1, 7, 2, 0, 1, NULL), (1, 8, 1, 0, 2, NULL),"
    "       (1, 8, 2, 0, 2, '{\"kept\":1}');";

static void first_store(struct box *box)
{
    sqlite3 *connection = NULL;
    const char *path = box->url.s + 7;
    db_close(box->db);
    static const char *const ends[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < countof(ends); i++)
        unlink(str_cstr(test_arena(), str_format(test_arena(), "%s%s", path, ends[i])));
    EXPECT(sqlite3_open(path, &connection) == SQLITE_OK);
    EXPECT_INT(migrations[0].version, 1);
    char *why = NULL;
    sqlite3_exec(connection, "PRAGMA application_id = 1348564844", NULL, NULL, NULL);
    sqlite3_exec(connection, migrations[0].in[DIALECT_SQLITE].text, NULL, NULL, &why);
    EXPECT(why == NULL);
    char *applied = sqlite3_mprintf("INSERT INTO schema_migrations VALUES (1, %Q, 1)",
                                    migrations[0].in[DIALECT_SQLITE].name);
    sqlite3_exec(connection, applied, NULL, NULL, &why);
    sqlite3_free(applied);
    EXPECT(why == NULL);
    sqlite3_exec(connection, first_version, NULL, NULL, &why);
    if (why)
        print_error("%s\n", why);
    EXPECT(why == NULL);
    sqlite3_close(connection);
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .world = &box->world.world };
    MUST(db_open(&box->db, &options, &err));
}

TEST_EACH_DB(OPS_19_the_audit_trail_of_an_earlier_store_is_kept_whole)
{
    box->damaged = true;  // its idempotency records are left out
    first_store(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM audit_events WHERE job IS NOT NULL"), 4);
    EXPECT_INT(box_number(box, "SELECT id FROM audit_events WHERE detail = '{\"kept\":1}'"), 4);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE job_id IS NOT NULL"), 4);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'audit_events'"
                               " AND type IN ('index', 'trigger')"),
               5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_new'"), 0);
    struct job job = must_load(box, (struct id){ 8, 1 });
    EXPECT(job.state == JOB_QUEUED);
    OK(event_append_for(tx, 0, S("config"), EVENT_CONFIG_LOADED, S(""), err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE subject = 'config'"
                               " AND org_id IS NULL AND job_id IS NULL"),
               1);
}

TEST_EACH_DB(OPS_18_ready_jobs_of_an_earlier_store_are_found_by_their_project)
{
    const struct str project = S("00000000-0000-7000-8000-0000000000a1");
    struct claimed *claimed;
    box->damaged = true;
    first_store(box);
    box->caller.projects = &project;
    box->caller.project_count = 1;
    EXPECT_INT(claim_some(box, "W", 10, &claimed), 1);
    EXPECT_INT(claimed[0].job.id.high, 7);
}
