// pawl key: makes, lists and ends API keys. The only place where a key is ever printed.
#include <stdio.h>

#include "base/hash.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "cli/verb.h"
#include "engine/api_key.h"

enum { PAGE_KEYS = 100 };

static const char *const headings[] = { "KEY", "ROLE", "STATUS", "NAME", "PROJECTS", "CREATED",
                                        "EXPIRES", "LAST USED" };

// ----- create

static bool print_created(struct cli *cli, const struct key *key, const char *text,
                          struct pawl_error *err)
{
    if (!cli->given[OPTION_JSON]) {
        fprintf(stderr, "pawl: this is the only time the key is shown: keep it where secrets are "
                        "kept\n");
        printf("%s\n", text);
        return true;
    }
    json_t *object = key_json(&cli->arena, key);
    if (object && json_object_set_new(object, "key", json_string(text)) != 0) {
        json_decref(object);
        object = NULL;
    }
    return print_json(&cli->arena, object, err);
}

static bool create(struct cli *cli, struct pawl_error *err)
{
    struct key_request request = {
        .world = cli->world,
        .env = S("live"),
        .org_id = cli->caller.org_id,
        .name = cli->value[OPTION_NAME],
    };
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    SCOPED(tx) struct tx tx = {0};
    if (!role_parse(cli->value[OPTION_ROLE], &request.role))
        return usage(cli, err, "key create needs --role");
    request.projects = option_values(cli, OPTION_PROJECT, &request.project_count);
    if (!request.projects)
        return fail(err, PAWL_NO_MEMORY, "no memory to make a key");
    if (!session_open(cli, STORE_CREATE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err))
        return false;
    if (cli->given[OPTION_EXPIRES])
        request.expires_at = value_time(cli, OPTION_EXPIRES, tx.now);
    bool done = key_create(&tx, &request, &key, text, err) && tx_commit(&tx, err)
             && print_created(cli, &key, text, err);
    wipe(text, sizeof text);
    return done;
}

// ----- list

static const char *status(const struct key *key, pawl_time now)
{
    if (key->revoked_at)
        return "revoked";
    if (key->expires_at && key->expires_at <= now)
        return "expired";
    return key->org_disabled_at ? "org disabled" : "good";
}

static struct str projects_text(struct arena *arena, const struct key *key)
{
    struct buf all = buf_new(arena, (ID_TEXT + 1) * KEY_PROJECTS_MAX);
    for (size_t i = 0; i < key->project_count; i++)
        buf_addf(&all, "%s%.*s", i ? " " : "", STR(key->projects[i]));
    return key->project_count ? buf_str(&all) : S("all");
}

static void add_row(struct table *table, const struct key *key, pawl_time now)
{
    table_add(table, key->key_id);
    table_add(table, str_of(role_name(key->role)));
    table_add(table, str_of(status(key, now)));
    table_add(table, key->name);
    table_add(table, projects_text(table->cells.arena, key));
    table_add_time(table, key->created_at);
    table_add_time(table, key->expires_at);
    table_add_time(table, key->last_used_at);
}

static bool show_page(struct cli *cli, int64_t *before, size_t *shown, struct table *table,
                      struct pawl_error *err)
{
    struct key_list page;
    SCOPED(tx) struct tx tx = {0};
    if (!session_begin(cli, TX_READ, &cli->arena, &tx, err)
        || !key_list(&tx, *before, PAGE_KEYS, &page, err))
        return false;
    for (size_t i = 0; i < page.count; i++) {
        if (!cli->given[OPTION_JSON])
            add_row(table, &page.keys[i], tx.now);
        else if (fputs(*shown + i > 0 ? "," : "", stdout) == EOF
                 || !print_json(&cli->arena, key_json(&cli->arena, &page.keys[i]), err))
            return false;
    }
    *shown += page.count;
    *before = page.next;
    return true;
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    struct table table = table_of(&cli->arena, headings, countof(headings));
    bool json = cli->given[OPTION_JSON];
    int64_t before = 0;
    size_t shown = 0;
    if (!session_open(cli, STORE_READ, err))
        return false;
    fputs(json ? "{\"items\":[" : "", stdout);
    do {
        if (!show_page(cli, &before, &shown, &table, err))
            return false;
    } while (before);
    table_narrow(&table);
    if (json)
        puts("]}");
    else if (shown == 0)
        puts("no keys");
    else
        table_print(&table, "");
    return true;
}

// ----- revoke

// The id is unique in the store: whoever has the store need not say the org.
static bool revoke(struct cli *cli, struct pawl_error *err)
{
    struct key key;
    SCOPED(tx) struct tx tx = {0};
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");
    if (!session_open(cli, STORE_CHANGE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err)
        || !key_revoke(&tx, cli->words[1], &key, err) || !tx_commit(&tx, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, key_json(&cli->arena, &key), err);
    printf("key %.*s of org %.*s is revoked\n", STR(key.key_id), STR(key.org_id));
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
