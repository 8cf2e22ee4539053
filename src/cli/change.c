// pawl submit, cancel, retry, change: each is one operation of the engine in one transaction.
#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "engine/job.h"

static bool begin(struct cli *cli, struct id *id, struct tx *tx, struct pawl_error *err)
{
    return value_job_id(cli, id, err) && session_open(cli, STORE_CHANGE, err)
        && session_begin(cli, TX_WRITE, &cli->arena, tx, err);
}

static bool finish(struct cli *cli, struct tx *tx, const struct job *job, const char *remark,
                   struct pawl_error *err)
{
    if (!tx_commit(tx, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, job_json(&cli->arena, job), err);
    print_job_line(&cli->arena, job, remark);
    return true;
}

bool command_submit(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, &id, &tx, err) && job_submit(&tx, id, &job, err)
        && finish(cli, &tx, &job, "submitted", err);
}

bool command_cancel(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, &id, &tx, err) && job_cancel(&tx, id, &job, err)
        && finish(cli, &tx, &job, job_state_final(job.state) ? "cancelled" : "asked to stop", err);
}

bool command_retry(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, &id, &tx, err) && job_retry(&tx, id, &job, err)
        && finish(cli, &tx, &job, "new job", err);
}

static struct job_change wanted_change(const struct cli *cli, pawl_time now)
{
    struct job_change change = {
        .has_run_at = cli->given[OPTION_AT],
        .has_priority = cli->given[OPTION_PRIORITY],
        .has_queue = cli->given[OPTION_QUEUE],
        .queue = cli->value[OPTION_QUEUE],
    };
    if (change.has_run_at)
        change.run_at = value_time(cli, OPTION_AT, now);
    if (change.has_priority)
        change.priority = value_number(cli, OPTION_PRIORITY);
    return change;
}

bool command_change(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    if (!cli->given[OPTION_AT] && !cli->given[OPTION_PRIORITY] && !cli->given[OPTION_QUEUE])
        return usage(cli, err, "change needs at least one of --at, --priority and --queue");
    if (!begin(cli, &id, &tx, err))
        return false;
    struct job_change change = wanted_change(cli, tx.now);
    return job_change(&tx, id, &change, &job, err) && finish(cli, &tx, &job, "changed", err);
}
