// pawl key: makes, lists and ends API keys. The only place where a key is ever printed.
#include <stdio.h>

#include "cli/listing.h"
#include "cli/object.h"
#include "cli/value.h"
#include "cli/verb.h"

enum { PAGE_KEYS = 100 };

static const char *const headings[] = { "KEY", "ROLE", "STATUS", "NAME", "PROJECTS", "CREATED",
                                        "EXPIRES", "LAST USED" };

// ----- create

static bool look_for_admin(void *self, const json_t *key, struct pawl_error *err)
{
    (void)err;
    bool *found = self;
    if (str_eq(object_text(key, "role"), S("admin")) && !object_time(key, "revoked_at"))
        *found = true;
    return true;
}

// With the first key of a store the door closes: who made one that may do little should know. The
// key is made and shown: that the others cannot be listed is no failure of this command.
static void warn_without_admin(struct cli *cli)
{
    bool found = false;
    struct page page = { .limit = PAGE_KEYS, .show = look_for_admin, .self = &found };
    do {
        if (!cli->backend->keys(cli, &page, &(struct pawl_error){0}))
            return;
    } while (page.cursor.n && !found);
    if (!found)
        fprintf(stderr, "pawl: a store that has keys is served only to who shows one, and this org "
                        "has none of role admin: make one here to manage keys through a server\n");
}

static bool print_made(struct cli *cli, json_t *key, struct pawl_error *err)
{
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(key), err);
    fprintf(stderr, "pawl: this is the only time the key is shown: keep it where secrets are "
                    "kept\n");
    printf("%.*s\n", STR(safe(&cli->arena, object_text(key, "key"))));
    return true;
}

// What the store would refuse, by the name it has here.
static bool read_expires(const struct cli *cli, pawl_time *at, struct pawl_error *err)
{
    pawl_time now = world_wall(cli->world);
    if (!cli->given[OPTION_EXPIRES])
        return true;
    *at = value_time(cli, OPTION_EXPIRES, now);
    if (*at > now && *at <= now + SCHEDULE_US_MAX)
        return true;
    return fail(err, PAWL_INVALID, "--expires: %.*s lies %s", STR(cli->value[OPTION_EXPIRES]),
                *at <= now ? "in the past" : "more than 10 years ahead");
}

static bool create(struct cli *cli, struct pawl_error *err)
{
    struct key_request request = { .name = cli->value[OPTION_NAME] };
    SCOPED(json) json_t *key = NULL;
    if (!role_parse(cli->value[OPTION_ROLE], &request.role))
        return usage(cli, err, "key create needs --role");
    if (cli->given[OPTION_CONFIG] && cli->backend != &backend_store)
        return usage(cli, err, "--config is for a store: a server has a configuration of its own");
    request.projects = option_values(cli, OPTION_PROJECT, &request.project_count);
    if (!request.projects)
        return fail(err, PAWL_NO_MEMORY, "no memory to make a key");
    if (!read_expires(cli, &request.expires_at, err))
        return false;
    if (!cli->backend->key_create(cli, &request, &key, err))
        return false;
    if (!print_made(cli, key, err))
        return false;
    if (cli->backend == &backend_store && request.role != ROLE_ADMIN)
        warn_without_admin(cli);
    return true;
}

// ----- list

static const char *status(const json_t *key, pawl_time now)
{
    pawl_time expires_at = object_time(key, "expires_at");
    if (object_time(key, "revoked_at"))
        return "revoked";
    if (expires_at && expires_at <= now)
        return "expired";
    return object_time(key, "org_disabled_at") ? "org disabled" : "good";
}

static struct str projects_text(struct arena *arena, const json_t *key)
{
    const json_t *projects = object_items(key, "projects");
    size_t count = json_array_size(projects);
    struct buf all = buf_new(arena, (size_t)(ID_TEXT + 1) * KEY_PROJECTS_MAX);
    for (size_t i = 0; i < count; i++)
        buf_addf(&all, "%s%s", i ? " " : "", json_string_value(json_array_get(projects, i)));
    return count ? buf_str(&all) : S("all");
}

static void add_key(struct listing *listing, const json_t *key)
{
    struct table *table = &listing->table;
    table_add(table, object_text(key, "key_id"));
    table_add(table, object_text(key, "role"));
    table_add(table, str_of(status(key, world_wall(listing->cli->world))));
    table_add(table, object_text(key, "name"));
    table_add(table, projects_text(table->cells.arena, key));
    table_add(table, object_text(key, "created_at"));
    table_add(table, object_text(key, "expires_at"));
    table_add(table, object_text(key, "last_used_at"));
}

static bool next_keys(struct listing *listing, struct pawl_error *err)
{
    return listing->cli->backend->keys(listing->cli, &listing->page, err);
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    struct listing listing = listing_of(cli, headings, countof(headings), add_key);
    listing.left = INT64_MAX;
    listing.next = next_keys;
    listing.none = "no keys";
    return listing_show(&listing, err);
}

// ----- revoke

static bool revoke(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *key = NULL;
    if (!cli->backend->key_revoke(cli, cli->words[1], &key, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(key), err);
    printf("key %.*s of org %.*s is revoked\n", STR(safe(&cli->arena, object_text(key, "key_id"))),
           STR(safe(&cli->arena, object_text(key, "org_id"))));
    return true;
}

bool command_key(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "create", 1, create },
        { "list", 1, list },
        { "revoke", 2, revoke },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
