// pawl jobs: the newest first, page by page, so that memory does not grow with the store.
#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"

enum { LIMIT_DEFAULT = 20, PAGE_JOBS = 100 };

static const char *const headings[] = { "ID", "STATE", "PHASE", "TYPE", "QUEUE", "PRIORITY",
                                        "ATTEMPTS", "CREATED" };

struct listing {
    struct cli *cli;
    int64_t left;  // how many may still be shown
    struct page page;
    struct items items;
    struct table table;
};

struct job_filter wanted_jobs(const struct cli *cli)
{
    struct job_filter filter = {
        .queue = cli->value[OPTION_QUEUE],
        .job_type = cli->value[OPTION_TYPE],
        .serial_key = cli->value[OPTION_SERIAL_KEY],
        .correlation_id = cli->value[OPTION_CORRELATION_ID],
        .project_id = cli->value[OPTION_PROJECT],
    };
    filter.has_state = job_state_parse(cli->value[OPTION_STATE], &filter.state);
    if (cli->given[OPTION_BATCH_ID] && !id_parse(cli->value[OPTION_BATCH_ID], &filter.batch))
        filter.batch = (struct id){0};  // it was looked at when the words were read
    return filter;
}

static void add_row(struct table *table, const json_t *job)
{
    struct arena *arena = table->cells.arena;
    table_add(table, object_text(job, "job_id"));
    table_add_state(table, job);
    table_add(table, object_text(job, "phase"));
    table_add(table, object_text(job, "job_type"));
    table_add(table, object_text(job, "queue"));
    table_add_number(table, object_number(job, "priority"));
    table_add(table, str_format(arena, "%lld/%lld", (long long)object_number(job, "attempts_used"),
                                (long long)object_number(job, "max_attempts")));
    table_add(table, object_text(job, "created_at"));
}

static bool show_job(void *self, const json_t *job, struct pawl_error *err)
{
    struct listing *listing = self;
    listing->left--;
    if (listing->cli->given[OPTION_JSON])
        return items_print(&listing->items, job, err);
    add_row(&listing->table, job);
    return true;
}

static bool show_pages(struct listing *listing, struct pawl_error *err)
{
    struct job_filter filter = wanted_jobs(listing->cli);
    do {
        listing->page.limit = listing->left < PAGE_JOBS ? listing->left : PAGE_JOBS;
        if (!listing->cli->backend->jobs(listing->cli, &filter, &listing->page, err))
            return false;
    } while (listing->page.cursor.n && listing->left > 0);
    return true;
}

bool command_jobs(struct cli *cli, struct pawl_error *err)
{
    struct listing listing = {
        .cli = cli,
        .left = cli->given[OPTION_LIMIT] ? value_number(cli, OPTION_LIMIT) : LIMIT_DEFAULT,
        .page = { .show = show_job, .self = &listing },
        .table = table_of(&cli->arena, headings, countof(headings)),
    };
    if (!show_pages(&listing, err))
        return false;
    if (cli->given[OPTION_JSON])
        items_close(&listing.items);
    else
        table_print_list(&listing.table, "no jobs");
    if (!cli->given[OPTION_JSON] && listing.page.cursor.n)
        puts("... and older ones: --limit shows more");
    if (listing.page.damaged)
        fprintf(stderr, "pawl: %zu damaged jobs are left out: run `pawl verify`\n",
                listing.page.damaged);
    return true;
}
