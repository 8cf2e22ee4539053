// pawl jobs: the newest first.
#include "cli/listing.h"
#include "cli/object.h"

static const char *const headings[] = { "ID", "STATE", "PHASE", "TYPE", "QUEUE", "PRIORITY",
                                        "ATTEMPTS", "CREATED" };

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

static void add_job(struct listing *listing, const json_t *job)
{
    struct table *table = &listing->table;
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

static bool next_jobs(struct listing *listing, struct pawl_error *err)
{
    return listing->cli->backend->jobs(listing->cli, listing->about, &listing->page, err);
}

bool command_jobs(struct cli *cli, struct pawl_error *err)
{
    struct job_filter filter = wanted_jobs(cli);
    struct listing listing = listing_of(cli, headings, countof(headings), add_job);
    listing.next = next_jobs;
    listing.about = &filter;
    listing.none = "no jobs";
    listing.more = "... and older ones: --limit shows more";
    return listing_show(&listing, err);
}
