// Finds an idempotency key the way enqueueing does: from its hash on, until a record has the same
// key or there is no record.
#include "base/hash.h"
#include "engine/job.h"
#include "engine/verify_check.h"
#include "store/names.h"

struct key {
    struct str org_id, project_id, key;
};

// The record a key is found by; `job` is 0 when there is none.
struct record {
    int64_t hash, job;
    pawl_time created_at;
};

static bool same_key(const struct key *a, const struct key *b)
{
    return str_eq(a->org_id, b->org_id) && str_eq(a->project_id, b->project_id)
        && str_eq(a->key, b->key);
}

static struct key read_key(struct rows *rows)
{
    struct key key = {0};
    key.org_id = row_text(rows);
    key.project_id = row_text(rows);
    key.key = row_text(rows);
    return key;
}

static bool read_record(struct tx *tx, int64_t hash, struct record *record, struct key *key,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *record = (struct record){ .hash = hash };
    if (!sql_ask(tx, &rows, Q_VERIFY_KEY_HOLDER, err, INT(hash)))
        return false;
    if (rows_next(&rows)) {
        record->job = row_int(&rows);
        *key = read_key(&rows);
        record->created_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool find(struct tx *tx, const struct key *wanted, struct record *record,
                 struct pawl_error *err)
{
    const struct str parts[] = { wanted->org_id, wanted->project_id, wanted->key };
    const uint8_t *secret = NULL;
    struct key found = {0};
    if (!store_secret(tx, &secret, err))
        return false;
    *record = (struct record){ .job = 0 };
    for (int64_t hash = hash_short(secret, parts, countof(parts)); hash < INT64_MAX; hash++) {
        if (!read_record(tx, hash, record, &found, err))
            return false;
        if (record->job == 0 || same_key(wanted, &found))
            return true;
    }
    return true;
}

bool verify_key_of_job(struct verifying *v, const struct job *job, struct pawl_error *err)
{
    const struct contract *c = &job->contract;
    struct key key = { c->org_id, c->project_id, c->idempotency_key };
    struct record record;
    if (!find(&v->tx, &key, &record, err))
        return false;
    if (record.job == job->id.high)
        return true;
    if (record.job == 0)
        return verify_report(v, CHECK_KEY_OF_JOB, err, "it has no record");
    pawl_time expires_at = 0;
    bool endless = __builtin_add_overflow(job->created_at, c->policy.key_ttl_us, &expires_at);
    bool was_free = job->completed_at != 0 && job->completed_at <= record.created_at
                 && !endless && expires_at <= record.created_at;
    return (was_free && record.job > job->id.high)
        || verify_report(v, CHECK_KEY_OF_JOB, err, "its key leads to the job of row key %lld",
                         (long long)record.job);
}

bool verify_key_records(struct verifying *v, int64_t after, int64_t last, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_KEY_ROWS, err, INT(after), INT(last)))
        return false;
    while (rows_next(&rows)) {
        struct record record;
        int64_t hash = row_int(&rows);
        v->job = row_int(&rows);
        struct key key = read_key(&rows);
        if (!find(&v->tx, &key, &record, err))
            return false;
        if (record.hash != hash
            && !verify_report(v, CHECK_KEY_RECORD, err, "hash %lld; its key is found at %lld",
                              (long long)hash, (long long)record.hash))
            return false;
        if (!verify_forget(v, err))
            return false;
    }
    return rows_ok(&rows, err);
}
