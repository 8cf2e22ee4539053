// Finds an idempotency key the way enqueueing does: the newest record whose job has the same key.
#include "engine/job.h"
#include "engine/verify_check.h"
#include "store/key_index.h"

struct key {
    struct str org_id, project_id, key;
};

// The record a key is found by; its job is 0 when there is none.
struct found {
    struct key_record record;
    pawl_time created_at;  // of the job
    int64_t hash;          // of the key
};

static bool same_key(const struct key *a, const struct key *b)
{
    // defensive: keys of two orgs meet in one slot by a chance of one in 2^40
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

// A job that does not exist has no key.
static bool read_holder(struct tx *tx, int64_t job, struct key *key, pawl_time *created_at,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *key = (struct key){0};
    if (!sql_ask(tx, &rows, Q_VERIFY_KEY_HOLDER, err, INT(job)))
        return false;
    if (rows_next(&rows)) {
        *key = read_key(&rows);
        *created_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool find(struct tx *tx, const struct key *wanted, struct found *found,
                 struct pawl_error *err)
{
    const struct str parts[] = { wanted->org_id, wanted->project_id, wanted->key };
    struct key_search search;
    struct key key;
    *found = (struct found){0};
    if (!key_search_start(tx, parts, countof(parts), &search, err))
        return false;
    found->hash = search.hash;
    do {
        if (!key_search_next(tx, &search, &found->record, err))
            return false;
        if (found->record.job == 0)
            return true;
        if (!read_holder(tx, found->record.job, &key, &found->created_at, err))
            return false;
    } while (!same_key(wanted, &key));
    return true;
}

// At `time` anybody could have the key of the job.
static bool was_free(const struct job *job, pawl_time time)
{
    pawl_time expires_at = 0;
    bool endless = __builtin_add_overflow(job->created_at, job->contract.policy.key_ttl_us,
                                          &expires_at);
    return job->completed_at != 0 && job->completed_at <= time && !endless && expires_at <= time;
}

bool verify_key_of_job(struct verifying *v, const struct job *job, struct pawl_error *err)
{
    const struct contract *c = &job->contract;
    struct key key = { c->org_id, c->project_id, c->idempotency_key };
    struct found found;
    if (!find(&v->tx, &key, &found, err))
        return false;
    // A later job may have taken the key over. Else the record was removed, and what was found, if
    // anything, is of an earlier job whose record has not been removed yet.
    bool later = found.record.job > job->id.high;
    if (found.record.job == job->id.high
        || was_free(job, later ? found.created_at : v->tx.now))
        return true;
    if (found.record.job == 0)
        return verify_report(v, CHECK_KEY_OF_JOB, err, "it has no record");
    return verify_report(v, CHECK_KEY_OF_JOB, err, "its key leads to the job of row key %lld",
                         (long long)found.record.job);
}

// A record that is not the one its key is found by is older, and of another job.
static bool check_record(struct verifying *v, int64_t slot, const struct found *found,
                         struct pawl_error *err)
{
    if (key_hash(slot) != found->hash)
        return verify_report(v, CHECK_KEY_RECORD, err, "slot %lld; the hash of its key is %lld",
                             (long long)slot, (long long)found->hash);
    if (found->record.slot == slot
        || (found->record.slot > slot && found->record.job != v->job))
        return true;
    return verify_report(v, CHECK_KEY_RECORD, err, "slot %lld; its key is found at %lld",
                         (long long)slot, (long long)found->record.slot);
}

bool verify_key_records(struct verifying *v, int64_t after, int64_t last, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_KEY_ROWS, err, INT(after), INT(last)))
        return false;
    while (rows_next(&rows)) {
        struct found found;
        int64_t slot = row_int(&rows);
        v->job = row_int(&rows);
        struct key key = read_key(&rows);
        if (!find(&v->tx, &key, &found, err) || !check_record(v, slot, &found, err))
            return false;
        // defensive: a key that could not be read is not found by itself, and that is refused above
        if (!verify_forget(v, err))
            return false;
    }
    return rows_ok(&rows, err);
}
