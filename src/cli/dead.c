// pawl dead: what ended badly, and what becomes of it.
#include <stdio.h>

#include "cli/dead.h"
#include "cli/listing.h"
#include "cli/object.h"
#include "cli/payload.h"
#include "cli/value.h"
#include "cli/verb.h"

enum { MESSAGE_BYTES = 80, PACED_MAX = 10000 };

static struct letter_filter wanted(const struct cli *cli)
{
    return (struct letter_filter){
        .job_type = cli->value[OPTION_TYPE],
        .fingerprint = cli->value[OPTION_ERROR],
        .queue = cli->value[OPTION_QUEUE],
    };
}

static bool has_filter(const struct cli *cli)
{
    return cli->given[OPTION_TYPE] || cli->given[OPTION_ERROR] || cli->given[OPTION_QUEUE];
}

// The beginning of a message, whole characters.
static struct str beginning(struct arena *arena, struct str text)
{
    size_t n = 0;
    while (n < text.n && n < MESSAGE_BYTES) {
        size_t step = utf8_step((struct str){ text.s + n, text.n - n });
        n += step ? step : 1;
    }
    return n >= text.n ? text : str_format(arena, "%.*s...", (int)n, text.s);
}

// ----- list

static void add_letter(struct listing *listing, const json_t *letter)
{
    struct table *table = &listing->table;
    struct arena *arena = table->cells.arena;
    table_add(table, object_text(letter, "job_id"));
    table_add(table, object_text(letter, "job_type"));
    table_add(table, object_text(letter, "fingerprint"));
    table_add(table, object_text(letter, "error_kind"));
    table_add(table, ago(arena, object_time(letter, "completed_at"),
                         world_wall(listing->cli->world)));
    table_add(table, beginning(arena, object_text(letter, "last_error")));
    table_add(table, object_text(letter, "origin_queue"));
    table_add_number(table, object_number(letter, "attempts_used"));
}

static bool next_letters(struct listing *listing, struct pawl_error *err)
{
    return listing->cli->backend->letters(listing->cli, listing->about, &listing->page, err);
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    static const char *const headings[] = { "ID", "TYPE", "ERROR", "KIND", "DIED", "MESSAGE",
                                            "FROM", "ATTEMPTS" };
    struct letter_filter filter = wanted(cli);
    struct listing listing = listing_of(cli, headings, countof(headings), add_letter);
    listing.next = next_letters;
    listing.about = &filter;
    listing.none = "no dead letters";
    listing.more = "... and older ones: --limit shows more, `pawl dead groups` counts them";
    return listing_show(&listing, err);
}

// ----- groups

static void print_groups(struct cli *cli, const json_t *groups)
{
    static const char *const headings[] = { "ERROR", "COUNT", "TYPE", "KIND", "LATEST", "MESSAGE",
                                            "LATEST ID" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    const json_t *items = object_items(groups, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *group = json_array_get(items, i);
        table_add(&table, object_text(group, "fingerprint"));
        table_add_number(&table, object_number(group, "count"));
        table_add(&table, object_text(group, "job_type"));
        table_add(&table, object_text(group, "error_kind"));
        table_add(&table, ago(&cli->arena, object_time(group, "newest_at"),
                              world_wall(cli->world)));
        table_add(&table, beginning(&cli->arena, object_text(group, "error_pattern")));
        table_add(&table, object_text(group, "newest_job_id"));
    }
    table_print_list(&table, "no dead letters");
    if (object_flag(groups, "more"))
        printf("... of the newest %lld letters: there are more\n",
               (long long)object_number(groups, "letters"));
}

static bool groups(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *found = NULL;
    struct letter_filter filter = wanted(cli);
    if (cli->given[OPTION_ERROR])
        return usage(cli, err, "dead groups are one per --error: it takes --type and --queue");
    if (!cli->backend->letter_groups(cli, &filter, &found, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(found), err);
    print_groups(cli, found);
    return true;
}

// ----- one

static bool id_given(const struct cli *cli, struct id *id, struct pawl_error *err)
{
    if (has_filter(cli))
        return usage(cli, err, "an ID, and --type, --error and --queue exclude each other");
    return value_id(cli, cli->words[1], id, err);
}

static bool show(struct cli *cli, struct pawl_error *err)
{
    struct id id = {0};
    SCOPED(json) json_t *letter = NULL;
    if (!id_given(cli, &id, err) || !cli->backend->letter(cli, id, &letter, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(letter), err);
    letter_print(cli, letter);
    return true;
}

static bool close_it(struct cli *cli, const struct letter_act *act, const char *remark,
                     struct pawl_error *err)
{
    struct id id = {0};
    SCOPED(json) json_t *job = NULL;
    if (!id_given(cli, &id, err) || !cli->backend->letter_close(cli, id, act, &job, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(job), err);
    print_job_line(&cli->arena, job, remark);
    return true;
}

static bool replay(struct cli *cli, struct pawl_error *err)
{
    if (cli->given[OPTION_DRY_RUN])
        return usage(cli, err, "--dry-run is for fix, and for replay and discard of many");
    return close_it(cli, &(struct letter_act){ .end = LETTER_REPLAYED }, "new job", err);
}

static bool has_reason(const struct cli *cli, struct pawl_error *err)
{
    return cli->given[OPTION_REASON]
        || usage(cli, err, "dead discard needs --reason TEXT: why nobody needs it any more");
}

static bool discard(struct cli *cli, struct pawl_error *err)
{
    struct letter_act act = { .end = LETTER_DISCARDED, .reason = cli->value[OPTION_REASON] };
    if (cli->given[OPTION_DRY_RUN])
        return usage(cli, err, "--dry-run is for fix, and for replay and discard of many");
    return has_reason(cli, err) && close_it(cli, &act, "discarded", err);
}

// ----- fix forward

// What it changes is shown before it is done, and is all there is to see in a dry run.
static bool preview(struct cli *cli, struct letter_act *act, struct pawl_error *err)
{
    struct id id = {0};
    SCOPED(json) json_t *told = NULL;
    act->dry_run = true;
    if (!id_given(cli, &id, err) || !cli->backend->letter_close(cli, id, act, &told, err))
        return false;
    act->dry_run = false;
    if (!cli->given[OPTION_JSON])
        changes_print(cli, json_object_get(told, "changes"));
    else if (cli->given[OPTION_DRY_RUN])
        return print_json(&cli->arena, json_incref(told), err);
    return true;
}

static bool fix(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *payload = NULL;
    if (!cli->given[OPTION_NEW_PAYLOAD])
        return usage(cli, err, "dead fix needs --payload JSON: the whole new payload");
    if (!payload_read(cli, cli->value[OPTION_NEW_PAYLOAD], &payload, err))
        return false;
    struct letter_act act = { .end = LETTER_FIXED, .payload = payload };
    return preview(cli, &act, err)
        && (cli->given[OPTION_DRY_RUN] || close_it(cli, &act, "new job", err));
}

// ----- many

static void print_many(const struct letter_sweep *sweep, const json_t *told)
{
    int64_t count = object_number(told, "count");
    bool more = object_flag(told, "more");
    const char *done = sweep->discard ? "discarded" : "replayed";
    printf("%lld dead %s%s %s\n", (long long)count, count == 1 ? "letter" : "letters",
           sweep->dry_run ? " would be" : "", done);
    if (more && count == 0)
        puts("... but there are more letters than are looked at at once: close newer ones first");
    else if (more)
        puts(sweep->dry_run ? "... and there are more" : "... there are more: run it again");
}

// What another portion has closed, added to what was closed before.
static bool add_portion(json_t *all, const json_t *portion, struct pawl_error *err)
{
    int64_t count = object_number(all, "count") + object_number(portion, "count");
    json_t *ids = json_object_get(all, "job_ids"), *more = json_object_get(portion, "job_ids");
    bool added = json_object_set_new(all, "count", json_integer(count)) == 0
              && json_object_set(all, "more", json_object_get(portion, "more")) == 0
              && (!more || json_array_extend(ids, more) == 0);
    return added || fail(err, PAWL_NO_MEMORY, "no memory for what was closed");
}

// A portion each second, until there are no more or as many as were asked for.
static bool close_paced(struct cli *cli, struct letter_sweep *sweep, json_t **told,
                        struct pawl_error *err)
{
    int64_t rate = value_rate(cli, OPTION_RATE), left = sweep->filter.limit;
    *told = json_pack("{s:b, s:i, s:[], s:b}", "dry_run", 0, "count", 0, "job_ids", "more", 0);
    for (;;) {
        SCOPED(json) json_t *portion = NULL;
        sweep->filter.limit = left < rate ? left : rate;
        if (!cli->backend->letters_close(cli, sweep, &portion, err)
            || !add_portion(*told, portion, err))
            return false;
        left -= object_number(portion, "count");
        if (left <= 0 || !object_flag(portion, "more") || object_number(portion, "count") == 0)
            return true;
        world_sleep(cli->world, SECONDS(1));
    }
}

static bool close_many(struct cli *cli, bool discarding, struct pawl_error *err)
{
    bool paced = cli->given[OPTION_RATE] && !cli->given[OPTION_DRY_RUN];
    int64_t most = paced ? PACED_MAX : LETTERS_CLOSED_MAX;
    SCOPED(json) json_t *told = NULL;
    struct letter_sweep sweep = {
        .filter = wanted(cli),
        .discard = discarding,
        .reason = cli->value[OPTION_REASON],
        .dry_run = cli->given[OPTION_DRY_RUN],
    };
    sweep.filter.limit = cli->given[OPTION_LIMIT] ? value_number(cli, OPTION_LIMIT) : most;
    if (sweep.filter.limit > most)
        return usage(cli, err, "--limit must be at most %lld here", (long long)most);
    if (paced ? !close_paced(cli, &sweep, &told, err)
              : !cli->backend->letters_close(cli, &sweep, &told, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(told), err);
    print_many(&sweep, told);
    return true;
}

// Everything would be too much to close by a word left out.
static bool many_meant(const struct cli *cli, struct pawl_error *err)
{
    return has_filter(cli)
        || usage(cli, err, "dead %.*s needs an ID, or at least one of --type, --error and --queue",
                 STR(cli->words[0]));
}

static bool replay_many(struct cli *cli, struct pawl_error *err)
{
    return many_meant(cli, err) && close_many(cli, false, err);
}

static bool discard_many(struct cli *cli, struct pawl_error *err)
{
    return many_meant(cli, err) && has_reason(cli, err) && close_many(cli, true, err);
}

bool command_dead(struct cli *cli, struct pawl_error *err)
{
    static const struct verb one[] = {
        { "list", 1, list },
        { "groups", 1, groups },
        { "show", 2, show },
        { "replay", 2, replay },
        { "discard", 2, discard },
        { "fix", 2, fix },
    };
    static const struct verb many[] = {
        { "list", 1, list },
        { "groups", 1, groups },
        { "show", 2, show },
        { "replay", 1, replay_many },
        { "discard", 1, discard_many },
        { "fix", 2, fix },
    };
    return verb_act(cli, cli->word_count == 1 ? many : one, countof(one), err);
}
