// pawl jobs: the newest first, page by page, so that memory does not grow with the store.
#include <stdio.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "engine/job.h"

enum { LIMIT_DEFAULT = 20, PAGE_JOBS = 100 };

static const char *const headings[] = { "ID", "STATE", "PHASE", "TYPE", "QUEUE", "PRIORITY",
                                        "ATTEMPTS", "CREATED" };

struct listing {
    struct cli *cli;
    struct job_filter filter;
    int64_t left;  // how many may still be shown
    int64_t shown;
    size_t damaged;
    struct table table;
};

static void read_filter(const struct cli *cli, struct job_filter *filter)
{
    *filter = (struct job_filter){
        .has_state = cli->given[OPTION_STATE],
        .queue = cli->value[OPTION_QUEUE],
        .job_type = cli->value[OPTION_TYPE],
        .serial_key = cli->value[OPTION_SERIAL_KEY],
    };
    if (filter->has_state)
        filter->has_state = job_state_parse(cli->value[OPTION_STATE], &filter->state);
}

static void add_row(struct table *table, const struct job *job)
{
    struct arena *arena = table->cells.arena;
    table_add(table, id_text(arena, job->id));
    table_add_state(table, job->state);
    table_add(table, str_of(job_phase_name(job->phase)));
    table_add(table, job->contract.job_type);
    table_add(table, job->queue);
    table_add_number(table, job->priority);
    table_add(table, str_format(arena, "%lld/%lld", (long long)job->attempts_used,
                                (long long)job->contract.policy.max_attempts));
    table_add_time(table, job->created_at);
}

static bool show_job(struct listing *listing, struct arena *arena, const struct job *job,
                     struct pawl_error *err)
{
    listing->shown++;
    listing->left--;
    if (!listing->cli->given[OPTION_JSON]) {
        add_row(&listing->table, job);
        return true;
    }
    fputs(listing->shown > 1 ? "," : "", stdout);
    return print_json(arena, job_json(arena, job), err);
}

static bool show_page(struct listing *listing, struct pawl_error *err)
{
    struct job_list page;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    listing->filter.limit = listing->left < PAGE_JOBS ? listing->left : PAGE_JOBS;
    if (!session_begin(listing->cli, TX_READ, &arena, &tx, err)
        || !job_find(&tx, &listing->filter, &page, err))
        return false;
    for (size_t i = 0; i < page.count; i++)
        if (!show_job(listing, &arena, &page.jobs[i], err))
            return false;
    listing->damaged += page.damaged;
    listing->filter.before = page.next;
    return true;
}

static bool show_pages(struct listing *listing, struct pawl_error *err)
{
    do {
        if (!show_page(listing, err))
            return false;
    } while (listing->filter.before && listing->left > 0);
    return true;
}

bool command_jobs(struct cli *cli, struct pawl_error *err)
{
    struct listing listing = {
        .cli = cli,
        .left = cli->given[OPTION_LIMIT] ? value_number(cli, OPTION_LIMIT) : LIMIT_DEFAULT,
        .table = table_of(&cli->arena, headings, countof(headings)),
    };
    bool json = cli->given[OPTION_JSON];
    read_filter(cli, &listing.filter);
    if (!session_open(cli, STORE_READ, err))
        return false;
    fputs(json ? "{\"items\":[" : "", stdout);
    if (!show_pages(&listing, err))
        return false;
    table_narrow(&listing.table);
    if (json)
        puts("]}");
    else if (listing.shown == 0)
        puts("no jobs");
    else
        table_print(&listing.table, "");
    if (!json && listing.filter.before)
        puts("... and older ones: --limit shows more");
    if (listing.damaged)
        fprintf(stderr, "pawl: %zu damaged jobs are left out: run `pawl verify`\n",
                listing.damaged);
    return true;
}
