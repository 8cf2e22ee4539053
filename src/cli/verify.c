// pawl verify: prints each violation as it is found, so that memory does not grow with the damage.
#include "engine/verify.h"

#include <stdio.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "model/json_field.h"

struct report {
    struct cli *cli;
    struct progress_bar bar;
    int64_t found;
    bool printed;
    struct pawl_error error;
};

static void print_violation_json(struct report *report, const struct violation *violation)
{
    SCOPED(arena) struct arena arena = {0};
    const struct json_field fields[] = {
        { "invariant", json_string(violation->invariant) },
        { "job_id", json_text_or_null(violation->job_id) },
        { "detail", json_text_or_null(violation->detail) },
    };
    json_t *object = json_object_of(fields, countof(fields));
    fputs(report->found > 1 ? "," : "", stdout);
    report->printed = report->printed && print_json(&arena, object, &report->error);
}

static void found(void *self, const struct violation *violation)
{
    struct report *report = self;
    report->found++;
    progress_hide(&report->bar);
    if (report->cli->given[OPTION_JSON]) {
        print_violation_json(report, violation);
        return;
    }
    SCOPED(arena) struct arena arena = {0};
    struct str id = safe(&arena, violation->job_id), detail = safe(&arena, violation->detail);
    printf("%s: %s%.*s%s%.*s\n", violation->invariant, id.n ? "job " : "", STR(id),
           id.n && detail.n ? ": " : "", STR(detail));
}

static void progress(void *self, int64_t jobs_done, int64_t jobs_total)
{
    progress_show(&((struct report *)self)->bar, jobs_done, jobs_total);
}

static void print_summary(const struct report *report, const struct verified *verified)
{
    if (report->cli->given[OPTION_JSON]) {
        printf("],\"jobs\":%lld,\"executions\":%lld}\n", (long long)verified->jobs,
               (long long)verified->executions);
        return;
    }
    printf("checked %lld %s and %lld %s\n", (long long)verified->jobs,
           verified->jobs == 1 ? "job" : "jobs", (long long)verified->executions,
           verified->executions == 1 ? "execution" : "executions");
    printf("%lld %s\n", (long long)verified->violations,
           verified->violations == 1 ? "violation" : "violations");
}

bool command_verify(struct cli *cli, struct pawl_error *err)
{
    struct report report = {
        .cli = cli,
        .printed = true,
        .bar = { .world = cli->world, .what = "verify" },
    };
    struct verified verified;
    struct verify_options options = {
        .self = &report,
        .found = found,
        .progress = progress,
        .artifacts = cli->given[OPTION_ARTIFACTS],
    };
    if (!session_open(cli, STORE_READ, err))
        return false;
    fputs(cli->given[OPTION_JSON] ? "{\"violations\":[" : "", stdout);
    bool done = verify(cli->db, &options, &verified, err);
    progress_hide(&report.bar);
    if (!done)
        return false;
    print_summary(&report, &verified);
    cli->status = verified.violations > 0 ? 1 : 0;
    if (!report.printed)
        *err = report.error;
    return report.printed;
}
