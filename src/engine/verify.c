// Passes over the orders that records have: by job, by place in `ready`, by slot of the key, by
// artifact, by seal.
//
// A pass goes in pages: the key of a page's last row is found first, then every invariant of the
// pass is asked for the rows up to it. The invariants are the queries of sql/verify.sql that have a
// sentence, and the rows of `checks`.
#include "engine/verify_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/id.h"
#include "engine/event.h"

enum { PAGE_JOBS = 250,  // some ten milliseconds: a log starts over between two of them
       KEY_COLUMNS_MAX = 5,
       DETAIL_BYTES_MAX = 512 };

static const struct invariant checks[] = {
    [CHECK_STATE] = { "check_state", "the state of a job follows from its records, and what must "
                                     "hold in that state does" },
    [CHECK_WORDS] = { "check_words", "statuses, reasons and states are words of this program" },
    [CHECK_EXECUTION] = { "check_execution", "an execution has what its status asks for" },
    [CHECK_TALLY] = { "check_tally", "the tallies of an execution are those of the attempts "
                                     "before it" },
    [CHECK_VERDICT] = { "check_verdict", "what became of a job after an execution is the verdict "
                                         "of its policy" },
    [CHECK_TRAIL] = { "check_trail", "the audit trail leads, step by allowed step, to the state of "
                                     "its job" },
    [CHECK_PAYLOAD] = { "check_payload", "a payload is a JSON object within its limit" },
    [CHECK_RESULT] = { "check_result", "a result is JSON within its limit" },
    [CHECK_STEP] = { "check_step", "the result of a step is JSON within its limit" },
    [CHECK_KEY_OF_JOB] = { "check_key_of_job", "a job is found by its idempotency key until the "
                                               "key is free again" },
    [CHECK_KEY_RECORD] = { "check_key_record", "the record of an idempotency key is where its "
                                               "job's key is looked for" },
    [CHECK_EVENT_NAMES] = { "check_event_names", "audit events have the names this program gives "
                                                 "them" },
    [CHECK_ARTIFACT_FILE] = { "check_artifact_file", "an artifact has its file, with its bytes" },
};
_Static_assert(countof(checks) == CHECKS, "one row per check");

struct invariant verify_invariant(size_t index)
{
    if (index < CHECKS)
        return checks[index];
    index -= CHECKS;
    for (size_t q = 0; q < QUERIES; q++)
        if (queries[q].invariant[0] && index-- == 0)
            return (struct invariant){ queries[q].name, queries[q].invariant };
    return (struct invariant){0};
}

// The id of a job by its row key; empty when there is no such job.
static bool id_of(struct tx *tx, int64_t job, struct str *id, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *id = S("");
    if (!sql_ask(tx, &rows, Q_VERIFY_JOB_LOW, err, INT(job)))
        return false;
    if (rows_next(&rows))
        *id = id_text(tx->arena, (struct id){ job, row_int(&rows) });
    return rows_ok(&rows, err);
}

bool verify_forget(struct verifying *v, struct pawl_error *err)
{
    bool failed = v->tx.arena->failed;
    arena_reset(v->tx.arena);
    return !failed || fail(err, PAWL_NO_MEMORY, "no memory to verify");
}

static bool report(struct verifying *v, struct invariant broken, int64_t job, struct str detail,
                   struct pawl_error *err)
{
    struct violation violation = {
        .name = broken.name,
        .invariant = broken.sentence,
        .detail = detail,
    };
    if (v->tx.arena->failed)  // what was read may be incomplete
        return verify_forget(v, err);
    if (!id_of(&v->tx, job, &violation.job_id, err))
        return false;
    if (job && violation.job_id.n == 0)
        violation.detail = str_format(v->tx.arena, "row key %lld: %.*s", (long long)job,
                                      STR(detail));
    v->verified->violations++;
    if (v->options->found)
        v->options->found(v->options->self, &violation);
    return true;
}

bool verify_report(struct verifying *v, enum check check, struct pawl_error *err,
                   const char *format, ...)
{
    char detail[DETAIL_BYTES_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    return report(v, checks[check], v->job, str_of(detail), err);
}

// One invariant: each row is a violation.
static bool check_query(struct verifying *v, enum query query, const struct value *values,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    struct invariant invariant = { queries[query].name, queries[query].invariant };
    if (!db_ask(&v->tx, &rows, query, values, (size_t)queries[query].arguments, err))
        return false;
    while (rows_next(&rows)) {
        int64_t job = row_int(&rows);
        if (!report(v, invariant, job, row_text(&rows), err) || !verify_forget(v, err))
            return false;
    }
    return rows_ok(&rows, err);
}

static bool check_queries(struct verifying *v, struct str prefix, const struct value *values,
                          struct pawl_error *err)
{
    for (unsigned q = 0; q < QUERIES; q++)
        if (queries[q].invariant[0] && str_starts(str_of(queries[q].name), prefix)
            && !check_query(v, (enum query)q, values, err))
            return false;
    return true;
}

// A page holds the rows above the first KEY_COLUMNS values and not above the others.
struct page {
    struct value bounds[2 * KEY_COLUMNS_MAX];
    bool last;
};

static bool check_jobs(struct verifying *v, const struct page *page, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_JOB_ROWS, err, page->bounds[0], page->bounds[1]))
        return false;
    while (rows_next(&rows)) {
        v->job = row_int(&rows);
        if (!verify_job(v, err) || !verify_forget(v, err))
            return false;
        v->verified->jobs++;
    }
    return rows_ok(&rows, err);
}

static bool check_keys(struct verifying *v, const struct page *page, struct pawl_error *err)
{
    return !v->finds_keys
        || verify_key_records(v, page->bounds[0].number, page->bounds[1].number, err);
}

static bool check_files(struct verifying *v, const struct page *page, struct pawl_error *err)
{
    return verify_artifact_files(v, page->bounds[0].number, page->bounds[1].number, err);
}

struct pass {
    struct str prefix;  // of the queries
    size_t columns;     // of the key
    enum query end;     // the last row of a page
    bool (*check)(struct verifying *v, const struct page *page, struct pawl_error *err);
};

static const struct pass passes[] = {
    { { "verify_job_", 11 }, 1, Q_VERIFY_JOB_END, check_jobs },
    { { "verify_ready_", 13 }, 5, Q_VERIFY_READY_END, NULL },
    { { "verify_key_", 11 }, 1, Q_VERIFY_KEY_END, check_keys },
    { { "verify_artifact_", 16 }, 1, Q_VERIFY_ARTIFACT_END, check_files },
    { { "verify_seal_", 12 }, 1, Q_VERIFY_SEAL_END, NULL },
};

// Sets the upper bound: the key of the row that ends the page, or the greatest there is.
static bool page_end(struct verifying *v, const struct pass *pass, struct page *page,
                     struct pawl_error *err)
{
    struct value values[KEY_COLUMNS_MAX + 1];
    struct value *upper = page->bounds + pass->columns;
    int64_t rows_max = v->options->page_jobs > 0 ? v->options->page_jobs : PAGE_JOBS;
    memcpy(values, page->bounds, pass->columns * sizeof *values);
    values[pass->columns] = INT(rows_max - 1);
    SCOPED(rows) struct rows rows = {0};
    if (!db_ask(&v->tx, &rows, pass->end, values, pass->columns + 1, err))
        return false;
    page->last = !rows_next(&rows);
    for (size_t i = 0; i < pass->columns; i++)
        upper[i] = INT(page->last ? INT64_MAX : row_int(&rows));
    return rows_ok(&rows, err);
}

static bool check_page(struct verifying *v, const struct pass *pass, struct page *page,
                       struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    bool done = tx_begin(v->tx.db, TX_READ, &arena, &v->tx, err) && page_end(v, pass, page, err)
             && check_queries(v, pass->prefix, page->bounds, err)
             && (!pass->check || pass->check(v, page, err)) && tx_commit(&v->tx, err);
    tx_end(&v->tx);
    return done;
}

static bool check_pass(struct verifying *v, const struct pass *pass, int64_t jobs_total,
                       struct pawl_error *err)
{
    struct page page = {0};
    for (size_t i = 0; i < pass->columns; i++)
        page.bounds[i] = INT(INT64_MIN);
    while (!page.last) {
        if (!check_page(v, pass, &page, err))
            return false;
        memcpy(page.bounds, page.bounds + pass->columns, pass->columns * sizeof *page.bounds);
        int64_t done = v->verified->jobs;
        if (v->options->progress)
            v->options->progress(v->options->self, done, done > jobs_total ? done : jobs_total);
    }
    return true;
}

static bool count_jobs(struct tx *tx, int64_t *jobs, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_VERIFY_JOB_COUNT, err))
        return false;
    *jobs = rows_next(&rows) ? row_int(&rows) : 0;
    return rows_ok(&rows, err);
}

// Without the store's secret, or without a generation, the keys cannot be looked up.
static bool find_secret(struct verifying *v, struct pawl_error *err)
{
    SCOPED(rows) struct rows secret = {0}, newest = {0};
    if (!sql_ask_plain(&v->tx, &secret, Q_STORE_SECRET, err)
        || !sql_ask_plain(&v->tx, &newest, Q_GENERATION_NEWEST, err))
        return false;
    v->finds_keys = rows_next(&secret) && row_text(&secret).n == 2 * (size_t)HASH_SECRET_BYTES
                 && rows_next(&newest);
    return rows_ok(&secret, err) && rows_ok(&newest, err);
}

// The queries know audit events by their names.
static bool check_event_names(struct verifying *v, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(&v->tx, &rows, Q_AUDIT_EVENT_NAMES, err))
        return false;
    for (int64_t event = 1; event < EVENTS; event++) {
        struct str name = str_of(event_name((enum event)event));
        bool same = rows_next(&rows) && row_int(&rows) == event && str_eq(row_text(&rows), name);
        if (!same && rows_ok(&rows, err))
            return verify_report(v, CHECK_EVENT_NAMES, err, "%.*s has another", STR(name));
    }
    return rows_ok(&rows, err);
}

static bool look_around(struct verifying *v, int64_t *jobs_total, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    bool done = tx_begin(v->tx.db, TX_READ, &arena, &v->tx, err)
             && (!v->options->progress || count_jobs(&v->tx, jobs_total, err))
             && find_secret(v, err) && check_event_names(v, err) && tx_commit(&v->tx, err);
    tx_end(&v->tx);
    return done;
}

static bool check_alone(struct verifying *v, enum query query, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    bool done = tx_begin(v->tx.db, TX_READ, &arena, &v->tx, err) && check_query(v, query, NULL, err)
             && tx_commit(&v->tx, err);
    tx_end(&v->tx);
    return done;
}

// Each in a transaction of its own: as long as one is open, the log of the store cannot be reused.
static bool check_store(struct verifying *v, struct pawl_error *err)
{
    for (unsigned q = 0; q < QUERIES; q++)
        if (queries[q].invariant[0] && str_starts(str_of(queries[q].name), S("verify_store_"))
            && !check_alone(v, (enum query)q, err))
            return false;
    return true;
}

bool verify(struct db *db, const struct verify_options *options, struct verified *verified,
            struct pawl_error *err)
{
    struct verifying v = { .options = options, .verified = verified, .tx = { .db = db } };
    int64_t jobs_total = 0;
    *verified = (struct verified){0};
    db_forget(db);  // what is remembered may differ from what is stored
    if (!look_around(&v, &jobs_total, err))
        return false;
    if (options->progress)
        options->progress(options->self, 0, jobs_total);
    if (!check_store(&v, err))
        return false;
    for (size_t i = 0; i < countof(passes); i++)
        if (!check_pass(&v, &passes[i], jobs_total, err))
            return false;
    return true;
}
