// pawl audit: who did what, and whether the record of it is whole. Lists ask a server or a store;
// whoever checks, seals or exports the trail has the store itself.
#include <stdio.h>

#include "cli/annotate.h"
#include "cli/audit.h"
#include "cli/listing.h"
#include "cli/object.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/value.h"
#include "cli/verb.h"
#include "engine/seal.h"
#include "model/json_field.h"
#include "model/text_rule.h"

enum { SEALS_AT_ONCE = 20, NOTE_BYTES = 60 };  // --json shows all

bool audit_on_store(const struct cli *cli, struct pawl_error *err)
{
    return cli->backend == &backend_store
        || usage(cli, err, "audit %.*s%s works on a store, not through a server: say --store URL",
                 STR(cli->words[0]), cli->given[OPTION_SYSTEM] ? " --system" : "");
}

// ----- list

static const char *const headings[] = { "ID", "AT", "EVENT", "BY", "ABOUT", "TYPE", "ATTEMPT",
                                        "NOTE" };

static void add_event(struct listing *listing, const json_t *event)
{
    struct table *table = &listing->table;
    struct str job = object_text(event, "job_id");
    table_add_number(table, object_number(event, "event_id"));
    table_add(table, object_text(event, "at"));
    table_add(table, object_text(event, "event"));
    table_add(table, object_text(event, "actor_id"));
    table_add(table, job.n ? job : object_text(event, "subject"));
    table_add(table, object_text(event, "job_type"));
    table_add_number(table, object_number(event, "attempt"));
    table_add(table, text_clip(object_text(json_object_get(event, "detail"), "text"), NOTE_BYTES));
}

static bool next_events(struct listing *listing, struct pawl_error *err)
{
    return listing->cli->backend->events(listing->cli, listing->about, &listing->page, err);
}

static bool wanted(struct cli *cli, struct event_filter *filter, struct pawl_error *err)
{
    struct str event = cli->value[OPTION_EVENT];
    *filter = (struct event_filter){ .has_job = cli->given[OPTION_JOB],
                                     .of_store = cli->given[OPTION_SYSTEM] };
    if (filter->of_store && !audit_on_store(cli, err))
        return false;
    if (filter->of_store && (filter->has_job || cli->given[OPTION_ORG]))
        return usage(cli, err, "--system shows what is of no job and of no org: leave out --%s",
                     filter->has_job ? "job" : "org");
    if (filter->of_store)
        cli->caller.org_id = S("");
    if (event.n && !event_parse(event, &filter->event))
        return usage(cli, err, "there is no event `%.*s`; one is job.failed", STR(event));
    return !filter->has_job || value_id(cli, cli->value[OPTION_JOB], &filter->job, err);
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    struct event_filter filter;
    struct listing listing = listing_of(cli, headings, countof(headings), add_event);
    listing.next = next_events;
    listing.about = &filter;
    listing.none = "no events";
    listing.more = "... and older ones: --limit shows more";
    return wanted(cli, &filter, err) && listing_show(&listing, err);
}

// ----- verify

struct report {
    struct cli *cli;
    struct progress_bar bar;
    int64_t found;
    bool printed;
    struct pawl_error error;
};

static void found(void *self, const struct seal_finding *finding)
{
    struct report *report = self;
    SCOPED(arena) struct arena arena = {0};
    progress_hide(&report->bar);
    if (!report->cli->given[OPTION_JSON]) {
        if (finding->seal)
            printf("seal %lld: ", (long long)finding->seal);
        if (finding->event)
            printf("event %lld: ", (long long)finding->event);
        printf("%s\n", finding->what);
        return;
    }
    const struct json_field fields[] = {
        { "seal", finding->seal ? json_integer(finding->seal) : json_null() },
        { "event_id", finding->event ? json_integer(finding->event) : json_null() },
        { "finding", json_string(finding->what) },
    };
    fputs(report->found++ ? "," : "", stdout);
    json_t *object = json_object_of(fields, countof(fields));
    report->printed = report->printed && print_json(&arena, object, &report->error);
}

static void progress(void *self, int64_t events, int64_t total)
{
    progress_show(&((struct report *)self)->bar, events, total);
}

static void print_summary(const struct cli *cli, const struct seals_checked *c)
{
    if (cli->given[OPTION_JSON]) {
        printf("],\"events\":%lld,\"seals\":%lld,\"pruned_seals\":%lld,\"unsealed\":%lld,"
               "\"head\":\"%s\"}\n",
               (long long)c->events, (long long)c->seals, (long long)c->pruned,
               (long long)c->unsealed, c->head_hash);
        return;
    }
    printf("checked %lld events under %lld seals", (long long)c->events, (long long)c->seals);
    if (c->pruned)
        printf(", of %lld of which the events were pruned", (long long)c->pruned);
    printf("\n%lld newer ones are not sealed yet\n", (long long)c->unsealed);
    if (c->seals)
        printf("head %s\n", c->head_hash);
    printf("%lld %s\n", (long long)c->findings, c->findings == 1 ? "finding" : "findings");
}

static bool verify_trail(struct cli *cli, struct pawl_error *err)
{
    struct report report = {
        .cli = cli,
        .printed = true,
        .bar = { .world = cli->world, .what = "audit" },
    };
    struct seal_check check = {
        .self = &report,
        .found = found,
        .progress = progress,
        .head = cli->value[OPTION_HEAD],
    };
    struct seals_checked checked;
    if (!audit_on_store(cli, err) || !session_open(cli, STORE_READ, err))
        return false;
    fputs(cli->given[OPTION_JSON] ? "{\"findings\":[" : "", stdout);
    bool done = seals_check(cli->db, &check, &checked, err);
    progress_hide(&report.bar);
    if (!done)
        return false;
    print_summary(cli, &checked);
    cli->status = checked.findings > 0 ? 1 : 0;
    if (!report.printed)
        *err = report.error;
    return report.printed;
}

// ----- seal

// In pieces, each a short transaction. The hashing is inside it: there is no server that waits.
static bool seal_piece(struct cli *cli, int64_t *events, bool *more, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct seals seals;
    if (!session_begin(cli, TX_WRITE, &arena, &tx, err)
        || !seals_make(&tx, SEALS_AT_ONCE, true, &seals, err) || !seals_put(&tx, &seals, err)
        || !tx_commit(&tx, err))
        return false;
    for (size_t i = 0; i < seals.count; i++)
        *events += seals.at[i].events;
    *more = seals.more;
    return true;
}

static bool seal_trail(struct cli *cli, struct pawl_error *err)
{
    struct seal head;
    int64_t events = 0;
    bool more = true;
    SCOPED(tx) struct tx tx = {0};
    if (!audit_on_store(cli, err) || !session_open(cli, STORE_CHANGE, err))
        return false;
    while (more)
        if (!seal_piece(cli, &events, &more, err))
            return false;
    if (!session_begin(cli, TX_READ, &cli->arena, &tx, err) || !seal_newest(&tx, &head, err))
        return false;
    if (cli->given[OPTION_JSON]) {
        const struct json_field fields[] = {
            { "events", json_integer(events) },
            { "seal", json_integer(head.number) },
            { "head", json_text_or_null(head.hash) },
        };
        return print_json(&cli->arena, json_object_of(fields, countof(fields)), err);
    }
    printf("%lld events sealed\n", (long long)events);
    if (head.number)
        printf("head %.*s\n", STR(head.hash));
    return true;
}

bool command_audit(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "list", 1, list },
        { "verify", 1, verify_trail },
        { "export", 1, audit_export },
        { "seal", 1, seal_trail },
        { "annotate", 3, audit_note },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
