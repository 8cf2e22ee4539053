// pawl submit, cancel, retry, change: each is one operation on one job; see change_many.h for many.
#include "cli/backend.h"
#include "cli/change_many.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"

static bool print_job(struct cli *cli, json_t *job, const char *remark, struct pawl_error *err)
{
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(job), err);
    print_job_line(&cli->arena, job, remark);
    return true;
}

static bool act_on_job(struct cli *cli, enum job_act act, json_t **job, struct pawl_error *err)
{
    struct id id;
    return value_job_id(cli, &id, err) && cli->backend->act(cli, id, act, job, err);
}

bool command_submit(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    return act_on_job(cli, ACT_SUBMIT, &job, err) && print_job(cli, job, "submitted", err);
}

bool command_cancel(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    if (cli->word_count == 0)
        return change_many(cli, ACT_CANCEL, err);
    return one_meant(cli, err) && act_on_job(cli, ACT_CANCEL, &job, err)
        && print_job(cli, job, object_ended(job) ? "cancelled" : "asked to stop", err);
}

bool command_retry(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    if (cli->word_count == 0)
        return change_many(cli, ACT_RETRY, err);
    return one_meant(cli, err) && act_on_job(cli, ACT_RETRY, &job, err)
        && print_job(cli, job, "new job", err);
}

static struct job_change wanted_change(const struct cli *cli)
{
    struct job_change change = {
        .has_run_at = cli->given[OPTION_AT],
        .has_priority = cli->given[OPTION_PRIORITY],
        .has_queue = cli->given[OPTION_QUEUE],
        .queue = cli->value[OPTION_QUEUE],
    };
    if (change.has_run_at)
        change.run_at = value_time(cli, OPTION_AT, world_wall(cli->world));
    if (change.has_priority)
        change.priority = value_number(cli, OPTION_PRIORITY);
    return change;
}

bool command_change(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    SCOPED(json) json_t *job = NULL;
    if (!cli->given[OPTION_AT] && !cli->given[OPTION_PRIORITY] && !cli->given[OPTION_QUEUE])
        return usage(cli, err, "change needs at least one of --at, --priority and --queue");
    struct job_change change = wanted_change(cli);
    return value_job_id(cli, &id, err) && cli->backend->change(cli, id, &change, &job, err)
        && print_job(cli, job, "changed", err);
}
