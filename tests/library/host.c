// A program in C that lives with Pawl: it knows pawl.h, pkg-config and nothing else. One handle
// enqueues, another runs the jobs of the same store.
#include <pawl.h>
#include <stdio.h>
#include <string.h>

static struct pawl_error err;
static int finished;

static bool add(struct pawl_run *run, void *context)
{
    (void)context;
    return pawl_step_result(run, "{\"sum\":3}");
}

static bool prepare(struct pawl_run *run, void *context)
{
    const char *sum = NULL;
    return pawl_step(run, "add", add, context, &sum) && pawl_result(run, sum);
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct pawl_error why;
    (void)context;
    return pawl_tx_execute(tx, "INSERT INTO sums VALUES (3)", &why)
        || pawl_fail(run, PAWL_DEPENDENCY, "%s", why.message);
}

static bool finish(struct pawl_run *run, void *context)
{
    ++*(int *)context;
    return strcmp(pawl_effect_key(run), pawl_job_id(run)) == 0;
}

// A job and a table of the program's own in one transaction.
static bool ask(struct pawl *pawl, struct pawl_ticket *ticket)
{
    struct pawl_tx *tx = NULL;
    struct pawl_job job = { .job_type = "sum", .payload = "{\"a\":1,\"b\":2}" };
    if (!pawl_begin(pawl, &tx, &err))
        return false;
    if (pawl_tx_execute(tx, "CREATE TABLE sums (value INTEGER)", &err)
        && pawl_tx_enqueue(tx, &job, ticket, &err))
        return pawl_commit(tx, &err);
    pawl_rollback(tx);
    return false;
}

// Whoever does not care why may pass NULL: refused by the contract, and by the store.
static bool refuses_without_a_reason(struct pawl *pawl)
{
    struct pawl_job first = { .job_type = "other", .idempotency_key = "k" };
    struct pawl_job second = { .job_type = "another", .idempotency_key = "k" };
    struct pawl_job bad = { .job_type = "no such type!" };
    return pawl_enqueue(pawl, &first, NULL, NULL) && !pawl_enqueue(pawl, &second, NULL, NULL)
        && !pawl_enqueue(pawl, &bad, NULL, NULL)
        && !pawl_cancel(pawl, "00000000-0000-7000-8000-000000000000", NULL, NULL);
}

static bool works(struct pawl *asking, struct pawl *running)
{
    struct pawl_handler handler = { .job_type = "sum", .prepare = prepare, .commit = commit };
    struct pawl_ticket ticket;
    struct pawl_status status;
    handler.finish = finish;
    handler.context = &finished;
    if (!ask(asking, &ticket) || !pawl_handle(running, &handler, &err)
        || !pawl_start(running, &err)
        || !pawl_wait(asking, ticket.job_id, 60000000, &status, &err))
        return false;
    printf("%s, finished %d times\n", status.state, finished);
    return refuses_without_a_reason(asking);
}

int main(int count, char **words)
{
    struct pawl *asking = NULL, *running = NULL;
    struct pawl_options options = { .store = count > 1 ? words[1] : NULL };
    bool fine = pawl_open(&asking, &options, &err) && pawl_open(&running, &options, &err)
             && works(asking, running);
    if (!fine)
        fprintf(stderr, "%s: %s\n", pawl_code_word(err.code), err.message);
    pawl_close(running);
    pawl_close(asking);
    return fine ? 0 : 1;
}
