// A key is a row that points at its org; its secret is hashed here and nowhere kept.
#include "engine/api_key.h"

#include <assert.h>

#include "base/hash.h"
#include "base/list.h"
#include "engine/event.h"
#include "engine/job.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "store/names.h"

enum { LIST_MAX = 1000, KEY_NAME_BYTES_MAX = 256 };

// ----- what a key may be

static bool listed(const struct str *projects, size_t count, struct str project)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(projects[i], project))
            return true;
    return false;
}

static void check_projects(const struct caller *caller, const struct key_request *r,
                           struct problems *problems)
{
    if (r->project_count > KEY_PROJECTS_MAX)
        problem_add(problems, "projects", "are at most %d", KEY_PROJECTS_MAX);
    for (size_t i = 0; i < r->project_count && i < KEY_PROJECTS_MAX; i++) {
        if (!uuid_valid(r->projects[i]))
            problem_add(problems, "projects", "must be UUIDs in lower case");
        else if (listed(r->projects, i, r->projects[i]))
            problem_add(problems, "projects", "names %.*s twice", STR(r->projects[i]));
        else if (!caller_sees(caller, r->projects[i]))
            problem_add(problems, "projects", "%.*s is not one of the caller's",
                        STR(r->projects[i]));
    }
    if (r->project_count == 0 && caller && caller->project_count > 0)
        problem_add(problems, "projects", "are needed: the caller is limited to projects itself");
}

void key_request_check(const struct key_request *r, const struct caller *caller, pawl_time now,
                       struct problems *problems)
{
    if (!api_key_env_valid(r->env))
        problem_add(problems, "env", "must be 1 to %d of a-z", KEY_ENV_BYTES_MAX);
    if (!uuid_valid(r->org_id))
        problem_add(problems, "org_id", "must be a UUID in lower case");
    else if (caller && caller->org_id.n && !str_eq(caller->org_id, r->org_id))
        problem_add(problems, "org_id", "is not the org of the caller");
    if ((unsigned)r->role >= ROLES)
        problem_add(problems, "role", "must be %.*s", STR(role_names()));
    if (r->name.n > KEY_NAME_BYTES_MAX || (r->name.n && !text_is_key(r->name)))
        problem_add(problems, "name", "must be at most %d bytes of printable UTF-8",
                    KEY_NAME_BYTES_MAX);
    if (r->expires_at && r->expires_at <= now)
        problem_add(problems, "expires_at", "lies in the past");
    if (r->expires_at > now + SCHEDULE_US_MAX)
        problem_add(problems, "expires_at", "lies more than 10 years ahead");
    check_projects(caller, r, problems);
}

static bool check(struct tx *tx, const struct key_request *r, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    key_request_check(r, tx->caller, tx->now, &problems);
    return problems_none(&problems, err);
}

// ----- rows

static struct str joined(struct arena *arena, const struct str *projects, size_t count)
{
    struct buf all = buf_new(arena, count * (ID_TEXT + 1) + 1);
    for (size_t i = 0; i < count; i++)
        buf_addf(&all, "%s%.*s", i ? " " : "", STR(projects[i]));
    return buf_str(&all);
}

static bool split(struct arena *arena, struct str text, struct key *key, struct pawl_error *err)
{
    struct str *projects = arena_new(arena, struct str, KEY_PROJECTS_MAX);
    if (!projects)
        return fail(err, PAWL_NO_MEMORY, "no memory for a key");
    key->projects = projects;
    key->project_count = 0;
    bool sound = true;
    while (text.n > 0 && key->project_count < KEY_PROJECTS_MAX) {
        struct str *project = &projects[key->project_count++];
        str_cut(text, ' ', project, &text);
        sound = sound && uuid_valid(*project);
    }
    return (sound && text.n == 0)
        || fail(err, PAWL_DAMAGED, "key %.*s has projects that are none", STR(key->key_id));
}

static bool key_read(struct tx *tx, struct rows *rows, struct key *key, struct pawl_error *err)
{
    *key = (struct key){0};
    key->row = row_int(rows);
    key->key_id = row_text(rows);
    key->org_id = row_text(rows);
    bool known = role_parse(row_text(rows), &key->role);
    key->name = row_text(rows);
    struct str projects = row_text(rows);
    key->created_at = row_int(rows);
    key->expires_at = row_int(rows);
    key->revoked_at = row_int(rows);
    key->last_used_at = row_int(rows);
    key->org_disabled_at = row_int(rows);
    key->hash = row_text(rows);
    if (!known || !uuid_valid(key->org_id) || key->key_id.n != KEY_ID_BYTES)
        return fail(err, PAWL_DAMAGED, "the record of key %.*s is damaged; run `pawl verify`",
                    STR(key->key_id));
    return split(tx->arena, projects, key, err);
}

static struct str subject(struct tx *tx, const char *kind, struct str id)
{
    return str_format(tx->arena, "%s:%.*s", kind, STR(id));
}

// ----- operations on keys

static bool insert(struct tx *tx, const struct key *key, int64_t org, struct pawl_error *err)
{
    struct str projects = joined(tx->arena, key->projects, key->project_count);
    SCOPED(json) json_t *told = json_pack("{s:s, s:s%}", "role", role_name(key->role), "projects",
                                          projects.n ? projects.s : "", projects.n);
    return sql_run(tx, Q_API_KEY_INSERT, err, INT(org), TEXT(key->key_id), TEXT(key->hash),
                   TEXT(str_of(role_name(key->role))), TEXT_OR_NONE(key->name),
                   TEXT_OR_NONE(projects), INT(tx->now), INT_OR_NONE(key->expires_at))
        && event_append_for(tx, org, subject(tx, "key", key->key_id), EVENT_KEY_CREATED,
                            json_text(tx->arena, told), err);
}

bool key_create(struct tx *tx, const struct key_request *r, struct key *key,
                char text[KEY_TEXT_BYTES_MAX + 1], struct pawl_error *err)
{
    uint8_t dice[KEY_DICE_BYTES];
    struct api_key parts;
    char hash[HASH_DIGITS + 1];
    int64_t org = 0;
    if (!check(tx, r, err))
        return false;
    r->world->random(r->world->self, dice, sizeof dice);
    bool sound = api_key_parse(api_key_make(r->env, dice, text), &parts);
    wipe(dice, sizeof dice);
    assert(sound);
    hash_secret(parts.secret, hash);
    *key = (struct key){
        .key_id = str_dup(tx->arena, parts.id),
        .org_id = r->org_id,
        .role = r->role,
        .name = r->name,
        .projects = r->projects,
        .project_count = r->project_count,
        .created_at = tx->now,
        .expires_at = r->expires_at,
        .hash = { hash, HASH_DIGITS },
    };
    bool made = org_intern(tx, r->org_id, &org, err) && insert(tx, key, org, err);
    key->hash = S("");
    return made;
}

bool key_find(struct tx *tx, struct str key_id, struct key *key, bool *found,
              struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *found = false;
    if (!sql_ask(tx, &rows, Q_API_KEY_FIND, err, TEXT(key_id)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err);
    *found = true;
    return key_read(tx, &rows, key, err);
}

// A limited caller sees keys that can do no more than it can itself.
static bool sees(const struct caller *caller, const struct key *key)
{
    if (!caller || caller->project_count == 0)
        return true;
    for (size_t i = 0; i < key->project_count; i++)
        if (!caller_sees(caller, key->projects[i]))
            return false;
    return key->project_count > 0;
}

bool key_list(struct tx *tx, int64_t before, int64_t limit, struct key_list *list,
              struct pawl_error *err)
{
    struct list found = list_of(tx->arena, sizeof(struct key));
    int64_t org = 0, last = 0, seen = 0;
    if (limit < 1 || limit > LIST_MAX)
        limit = LIST_MAX;
    SCOPED(rows) struct rows rows = {0};
    if (!caller_org(tx, &org, err)
        || !sql_ask(tx, &rows, Q_API_KEY_PAGE, err, INT(org), INT(before ? before : INT64_MAX),
                    INT(limit)))
        return false;
    for (; rows_next(&rows); seen++) {
        struct key *key = list_add(&found);
        if (!key)
            return fail(err, PAWL_NO_MEMORY, "no memory to list keys");
        if (!key_read(tx, &rows, key, err))
            return false;
        last = key->row;
        if (!sees(tx->caller, key))
            found.count--;
    }
    *list = (struct key_list){ found.items, found.count, seen == limit ? last : 0 };
    return rows_ok(&rows, err);
}

static bool own_key(struct tx *tx, struct str key_id, struct key *key, struct pawl_error *err)
{
    bool found = false;
    if (key_id.n != KEY_ID_BYTES)  // not quoted: it may be the whole key
        return fail(err, PAWL_NOT_FOUND, "there is no such key: the id has %d letters",
                    KEY_ID_BYTES);
    if (!key_find(tx, key_id, key, &found, err))
        return false;
    key->hash = S("");
    const struct caller *caller = tx->caller;
    bool own = found && (!caller || !caller->org_id.n || str_eq(caller->org_id, key->org_id));
    return (own && sees(caller, key))
        || fail(err, PAWL_NOT_FOUND, "there is no key %.*s", STR(key_id));
}

bool key_revoke(struct tx *tx, struct str key_id, struct key *key, struct pawl_error *err)
{
    int64_t org = 0;
    if (!own_key(tx, key_id, key, err))
        return false;
    if (key->revoked_at)
        return true;
    key->revoked_at = tx->now;
    return name_find(tx, NAME_ORG, key->org_id, &org, err)
        && sql_run(tx, Q_API_KEY_REVOKE, err, TEXT(key->key_id), INT(tx->now))
        && event_append_for(tx, org, subject(tx, "key", key->key_id), EVENT_KEY_REVOKED, S(""),
                            err);
}

bool key_used(struct tx *tx, struct str key_id, struct pawl_error *err)
{
    return sql_run(tx, Q_API_KEY_USED, err, TEXT(key_id), INT(tx->now),
                   INT(tx->now - KEY_USED_US));
}

bool key_any(struct tx *tx, bool *any, struct pawl_error *err)
{
    int64_t count = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_API_KEY_ANY, err) || !rows_number(&rows, &count, err))
        return false;
    *any = count > 0;
    return true;
}

static json_t *projects_json(const struct key *key)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < key->project_count; i++)
        if (json_array_append_new(array, json_text_or_null(key->projects[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

json_t *key_json(struct arena *arena, const struct key *key)
{
    const struct json_field fields[] = {
        { "key_id", json_text_or_null(key->key_id) },
        { "org_id", json_text_or_null(key->org_id) },
        { "role", json_string(role_name(key->role)) },
        { "projects", projects_json(key) },
        { "name", json_text_or_null(key->name) },
        { "created_at", json_time_or_null(arena, key->created_at) },
        { "expires_at", json_time_or_null(arena, key->expires_at) },
        { "revoked_at", json_time_or_null(arena, key->revoked_at) },
        { "last_used_at", json_time_or_null(arena, key->last_used_at) },
        { "org_disabled_at", json_time_or_null(arena, key->org_disabled_at) },
    };
    return json_object_of(fields, countof(fields));
}
