// The facts are five tables in memory; a check is one statement over them.
//
//     calls (actor, boot, n, op, subject)                  what was asked
//     answers (actor, boot, n, word, exec, job, attempt)   what was answered
//     jobs, executions, effects                            what the store says afterwards
#include "checker.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char schema[] =
    "CREATE TABLE calls (actor TEXT, boot INTEGER, n INTEGER, op TEXT, subject TEXT);"
    "CREATE TABLE answers (actor TEXT, boot INTEGER, n INTEGER, word TEXT, exec TEXT, job TEXT,"
    " attempt INTEGER);"
    "CREATE VIEW acknowledged AS SELECT * FROM calls JOIN answers USING (actor, boot, n)"
    " WHERE word = 'ok';"
    "CREATE VIEW unanswered AS SELECT * FROM calls c WHERE NOT EXISTS (SELECT 1 FROM answers a"
    " WHERE a.actor = c.actor AND a.boot = c.boot AND a.n = c.n);";

static const char facts_of_store[] =
    // A lane is what must be done one at a time: a serial key, or a job by itself.
    "CREATE TABLE jobs AS SELECT job_id, idempotency_key, coalesce(serial_key, job_id) AS lane,"
    " state, completed_at FROM store.pawl_jobs;"
    "CREATE TABLE executions AS SELECT * FROM store.pawl_executions;"
    "CREATE TABLE effects AS SELECT * FROM store.effects;"
    "CREATE TABLE damage AS SELECT integrity_check AS what FROM pragma_integrity_check"
    " WHERE schema = 'store' AND integrity_check <> 'ok'"
    " UNION ALL SELECT \"table\" FROM pragma_foreign_key_check WHERE schema = 'store';"
    "DETACH store;"
    "CREATE INDEX answers_call ON answers (actor, boot, n);"
    "CREATE INDEX executions_id ON executions (exec_id);"
    "CREATE INDEX executions_of ON executions (job_id);"
    "CREATE INDEX jobs_id ON jobs (job_id);"
    "CREATE INDEX jobs_lane ON jobs (lane);";

// clang-format off
const struct check checks[] = {
    // An enqueue was answered, and its job is not there or did not come to an end.
    { "lost",
      "SELECT count(DISTINCT job) FROM acknowledged WHERE op = 'enqueue' AND job NOT IN"
      " (SELECT job_id FROM jobs WHERE completed_at IS NOT NULL)",
      "DELETE FROM jobs WHERE job_id ="
      " (SELECT job FROM acknowledged WHERE op = 'enqueue' LIMIT 1)" },
    { "unfinished",
      "SELECT count(*) FROM jobs WHERE completed_at IS NULL",
      "UPDATE jobs SET completed_at = NULL WHERE rowid = 1" },
    // A job that nobody asked for.
    { "phantom",
      "SELECT count(*) FROM jobs WHERE idempotency_key NOT IN"
      " (SELECT subject FROM calls WHERE op = 'enqueue')",
      "UPDATE jobs SET idempotency_key = 'unasked' WHERE rowid = 1" },
    // One key, two jobs: in the store, or in what producers were told.
    { "duplicate_jobs",
      "SELECT count(*) FROM (SELECT idempotency_key FROM jobs GROUP BY 1 HAVING count(*) > 1"
      " UNION SELECT subject FROM acknowledged WHERE op = 'enqueue' GROUP BY 1"
      " HAVING count(DISTINCT job) > 1)",
      "INSERT INTO jobs SELECT 'another', idempotency_key, lane, state, completed_at FROM jobs"
      " LIMIT 1" },
    { "contradictory_answers",
      "SELECT count(*) FROM (SELECT subject FROM acknowledged WHERE op = 'enqueue' GROUP BY 1"
      " HAVING count(DISTINCT job) > 1)",
      "INSERT INTO calls VALUES ('x', 1, 1, 'enqueue', (SELECT idempotency_key FROM jobs LIMIT 1));"
      "INSERT INTO answers VALUES ('x', 1, 1, 'ok', '-', 'another', 0)" },
    { "double_effects",
      "SELECT count(*) FROM (SELECT job FROM effects GROUP BY job HAVING count(*) > 1)",
      "INSERT INTO effects SELECT * FROM effects LIMIT 1" },
    { "missing_effects",
      "SELECT count(*) FROM jobs WHERE state = 'SUCCEEDED' AND job_id NOT IN"
      " (SELECT job FROM effects)",
      "DELETE FROM effects WHERE rowid = 1" },
    // An effect without the commit of that very attempt.
    { "stray_effects",
      "SELECT count(*) FROM effects f WHERE NOT EXISTS (SELECT 1 FROM executions e"
      " JOIN jobs j ON j.job_id = e.job_id AND j.state = 'SUCCEEDED'"
      " WHERE e.job_id = f.job AND e.attempt = f.attempt AND e.committed_at IS NOT NULL)",
      "UPDATE effects SET attempt = attempt + 1 WHERE rowid = 1" },
    // A worker was told that it had committed, and the store says that it had not.
    { "stale_commits",
      "SELECT count(*) FROM acknowledged WHERE op = 'commit' AND exec NOT IN"
      " (SELECT exec_id FROM executions WHERE committed_at IS NOT NULL)",
      "UPDATE executions SET committed_at = NULL WHERE exec_id ="
      " (SELECT exec FROM acknowledged WHERE op = 'commit' LIMIT 1)" },
    { "double_commits",
      "SELECT count(*) FROM (SELECT job_id FROM executions WHERE committed_at IS NOT NULL"
      " GROUP BY 1 HAVING count(*) > 1)",
      "INSERT INTO executions SELECT * FROM executions WHERE committed_at IS NOT NULL LIMIT 1" },
    // One execution, handed to two.
    { "double_leases",
      "SELECT count(*) FROM (SELECT exec FROM acknowledged WHERE op = 'claim' GROUP BY exec"
      " HAVING count(*) > 1)",
      "INSERT INTO calls VALUES ('x', 1, 1, 'claim', '-');"
      "INSERT INTO answers SELECT 'x', 1, 1, 'ok', exec_id, job_id, attempt FROM executions"
      " LIMIT 1" },
    // An answer that left no trace in the store.
    { "forgotten",
      "SELECT count(*) FROM acknowledged a LEFT JOIN executions e ON e.exec_id = a.exec WHERE"
      " a.op IN ('claim', 'start', 'done', 'fail', 'release') AND (e.exec_id IS NULL"
      " OR (a.op = 'start' AND e.started_at IS NULL) OR (a.op = 'done' AND e.status <> 'DONE')"
      " OR (a.op IN ('fail', 'release') AND e.status = 'DONE' AND NOT EXISTS"
      "   (SELECT 1 FROM acknowledged c WHERE c.op = 'commit' AND c.exec = a.exec))"
      " OR (a.op IN ('fail', 'release') AND e.status NOT IN ('ABORTED', 'DONE')))",
      "UPDATE executions SET status = 'COMMITTED' WHERE exec_id ="
      " (SELECT exec FROM acknowledged WHERE op = 'done' LIMIT 1)" },
    // Two runs of one serial key, or of one job, at the same time.
    { "overlaps",
      "SELECT count(*) FROM executions a JOIN jobs j ON j.job_id = a.job_id"
      " JOIN jobs k ON k.lane = j.lane"
      " JOIN executions b ON b.job_id = k.job_id AND b.exec_id > a.exec_id"
      " WHERE a.leased_at < b.finished_at AND b.leased_at < a.finished_at",
      "UPDATE executions SET leased_at = 0 WHERE exec_id = (SELECT max(exec_id) FROM executions"
      " JOIN jobs USING (job_id) WHERE lane <> job_id)" },
    // What SQLite itself finds wrong with the file.
    { "damage", "SELECT count(*) FROM damage", "INSERT INTO damage VALUES ('planted')" },
    // An answer no caller may get in such a run: busy, full, a store that failed.
    { "errors",
      "SELECT count(*) FROM answers WHERE word NOT IN"
      " ('ok', 'none', 'finish', 'lease_lost', 'already_committed')",
      "UPDATE answers SET word = 'busy' WHERE rowid = 1" },

    { "jobs", "SELECT count(*) FROM jobs", NULL },
    { "succeeded", "SELECT count(*) FROM jobs WHERE state = 'SUCCEEDED'", NULL },
    { "calls", "SELECT count(*) FROM calls", NULL },
    { "calls_cut_off", "SELECT count(*) FROM unanswered", NULL },
    { "stale_calls_refused", "SELECT count(*) FROM answers WHERE word = 'lease_lost'", NULL },
    { "re-runs",
      "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM executions GROUP BY job_id)",
      NULL },
    // The answer was lost with the process, and yet the work was done: allowed, and reported.
    { "recovered_enqueues",
      "SELECT count(*) FROM unanswered WHERE op = 'enqueue' AND subject IN"
      " (SELECT idempotency_key FROM jobs)", NULL },
    { "recovered_commits",
      "SELECT count(*) FROM unanswered WHERE op = 'commit' AND subject IN"
      " (SELECT exec_id FROM executions WHERE committed_at IS NOT NULL)", NULL },
};
// clang-format on
const size_t checks_count = countof(checks);

void checker_run(sqlite3 *facts, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(facts, sql, NULL, NULL, &message) != SQLITE_OK)
        print_error("%s: %s\n", sql, message);
    EXPECT(message == NULL);
}

static int64_t count(sqlite3 *facts, const char *sql)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(facts, sql, -1, &row, NULL) != SQLITE_OK)
        print_error("%s: %s\n", sql, sqlite3_errmsg(facts));
    EXPECT(sqlite3_step(row) == SQLITE_ROW);
    int64_t number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

int64_t checks_not_met(const int64_t *totals)
{
    int64_t missing = 0;
    for (size_t i = 0; i < checks_count; i++)
        missing += !checks[i].planted && totals[i] == 0;
    return missing;
}

int64_t checker_count(sqlite3 *facts, const char *name)
{
    for (size_t i = 0; i < checks_count; i++)
        if (strcmp(checks[i].name, name) == 0)
            return count(facts, checks[i].sql);
    expect_failed(PLACE("a check of this name exists"));
}

// ----- logs

// Numbers stay text here; the columns make them numbers.
static void insert(sqlite3 *facts, const char *sql, const char *const *values, int value_count)
{
    sqlite3_stmt *statement = NULL;
    EXPECT(sqlite3_prepare_v2(facts, sql, -1, &statement, NULL) == SQLITE_OK);
    for (int i = 0; i < value_count; i++)
        sqlite3_bind_text(statement, i + 1, values[i], -1, SQLITE_STATIC);
    EXPECT(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_finalize(statement);
}

// The line's words in their order; a line that was cut short has no dot and counts for nothing.
static void read_line(sqlite3 *facts, const char *line, char actor[80], int *boot)
{
    char n[24], word[24], a[80], b[80], c[24], end[2], number[16];
    snprintf(number, sizeof number, "%d", *boot);
    if (sscanf(line, "! %79s %1[.]", a, end) == 2) {
        snprintf(actor, 80, "%s", a);
        ++*boot;
    } else if (sscanf(line, "> %23s %23s %79s %1[.]", n, word, a, end) == 4) {
        insert(facts, "INSERT INTO calls VALUES (?, ?, ?, ?, ?)",
               (const char *[]){ actor, number, n, word, a }, 5);
    } else if (sscanf(line, "< %23s %23s %79s %79s %23s %1[.]", n, word, a, b, c, end) == 6) {
        insert(facts, "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
               (const char *[]){ actor, number, n, word, a, b, c }, 7);
    }
}

static void read_log(sqlite3 *facts, const char *path)
{
    char line[512], actor[80] = "";
    int boot = 0;
    FILE *log = fopen(path, "r");
    EXPECT(log != NULL);
    while (fgets(line, sizeof line, log))
        read_line(facts, line, actor, &boot);
    fclose(log);
}

sqlite3 *checker_open(const char *directory)
{
    sqlite3 *facts = NULL;
    EXPECT(sqlite3_open(":memory:", &facts) == SQLITE_OK);
    sqlite3_busy_timeout(facts, 10000);
    sqlite3_db_config(facts, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    checker_run(facts, schema);
    checker_run(facts, "BEGIN");
    DIR *files = opendir(directory);
    EXPECT(files != NULL);
    for (struct dirent *file; (file = readdir(files));)
        if (str_ends(str_of(file->d_name), S(".log")))
            read_log(facts, str_format(test_arena(), "%s/%s", directory, file->d_name).s);
    closedir(files);
    checker_run(facts, "COMMIT");
    checker_run(facts, str_format(test_arena(), "ATTACH '%s/pawl.db' AS store", directory).s);
    checker_run(facts, facts_of_store);
    return facts;
}

void checker_close(sqlite3 *facts)
{
    sqlite3_close(facts);
}
