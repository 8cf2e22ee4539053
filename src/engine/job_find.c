// Listing jobs, newest first, by a bounded look at the index that fits the question best.
//
// There is no index on what callers choose (types, correlation ids): each would cost every enqueue
// more than it saves here. A page looks at ROWS_MAX rows at most and says where to go on. It ends
// early when it has grown large: a page of a thousand payloads must not fill the memory.
#include "base/list.h"
#include "engine/job.h"
#include "store/names.h"

enum { ROWS_MAX = 2000,
       PAGE_MAX = 1000,
       PAGE_BYTES_MAX = 4 << 20 };  // of payloads and results; one job more may pass it

// `within` is the org or the batch that some of them ask for first; 0: none.
static bool keys_of(struct tx *tx, enum query query, int64_t within, int64_t before,
                    struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    bool asked = within ? sql_ask(tx, &rows, query, err, INT(within), INT(before), INT(ROWS_MAX))
                        : sql_ask(tx, &rows, query, err, INT(before), INT(ROWS_MAX));
    return asked && rows_keys(&rows, keys, err);
}

// Where jobs of the asked state are found fastest. QUEUED jobs are in two places, so they are
// looked for among all.
static enum query page_query(const struct job_filter *filter, int64_t org)
{
    if (filter->batch.high)
        return Q_JOB_PAGE_BATCH;
    if (!filter->has_state)
        return Q_JOB_PAGE;
    if (filter->state == JOB_RUNNING)
        return Q_JOB_PAGE_RUNNING;
    if (filter->state == JOB_CREATED || filter->state == JOB_RETRYING)
        return Q_JOB_PAGE_PARKED;
    if (org && (filter->state == JOB_FAILED || filter->state == JOB_TIMED_OUT))
        return Q_JOB_PAGE_FAILED;
    return Q_JOB_PAGE;
}

static bool text_fits(struct str wanted, struct str actual)
{
    return wanted.n == 0 || str_eq(wanted, actual);
}

static bool fits(const struct job_filter *f, const struct job *job)
{
    return (!f->has_state || job->state == f->state)
        && text_fits(f->queue, job->queue) && text_fits(f->job_type, job->contract.job_type)
        && text_fits(f->serial_key, job->contract.serial_key)
        && text_fits(f->correlation_id, job->contract.correlation_id)
        && text_fits(f->project_id, job->contract.project_id)
        && (f->batch.high == 0 || id_eq(f->batch, job->batch));
}

// Loads a candidate into `scratch`, so that what does not fit costs nothing, however large it is.
static bool look(struct tx *tx, struct arena *scratch, int64_t key, struct job *job,
                 const char **problem, struct pawl_error *err)
{
    struct arena *arena = tx->arena;
    arena_reset(scratch);
    tx->arena = scratch;
    bool done = job_examine(tx, key, job, problem, err);
    tx->arena = arena;
    if (done && scratch->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to list jobs");
    return done;
}

// Keeps what fits, in the list's own memory.
static bool keep(struct tx *tx, int64_t key, struct list *found, size_t *bytes,
                 struct pawl_error *err)
{
    struct job *job = list_add(found);
    if (!job)
        return fail(err, PAWL_NO_MEMORY, "no memory to list jobs");
    if (!job_load_row(tx, key, job, err))
        return false;
    *bytes += job->contract.payload.n + job->result.n;
    return true;
}

bool job_find(struct tx *tx, const struct job_filter *filter, struct job_list *list,
              struct pawl_error *err)
{
    int64_t org = 0, before = filter->before ? filter->before : INT64_MAX;
    struct keys keys;
    struct list found = list_of(tx->arena, sizeof(struct job));
    size_t i = 0, bytes = 0, limit = PAGE_MAX;
    if (filter->limit > 0 && filter->limit < PAGE_MAX)
        limit = (size_t)filter->limit;
    *list = (struct job_list){0};
    if (!caller_org(tx, &org, err))
        return false;
    enum query query = page_query(filter, org);
    int64_t within = query == Q_JOB_PAGE_FAILED ? org
                   : query == Q_JOB_PAGE_BATCH  ? filter->batch.high
                                                : 0;
    if (!keys_of(tx, query, within, before, &keys, err))
        return false;
    SCOPED(arena) struct arena scratch = {0};
    for (; i < keys.count && found.count < limit && bytes < PAGE_BYTES_MAX; i++) {
        struct job job;
        const char *problem = NULL;
        if (!look(tx, &scratch, keys.at[i], &job, &problem, err))
            return false;
        bool ours = (org == 0 || job.keys.org == org)
                 && caller_sees(tx->caller, job.contract.project_id);
        list->damaged += ours && problem;
        if (ours && !problem && fits(filter, &job) && !keep(tx, keys.at[i], &found, &bytes, err))
            return false;
    }
    list->jobs = found.items;
    list->count = found.count;
    if (i < keys.count || keys.count == ROWS_MAX)
        list->next = keys.at[i - 1];
    return true;
}
