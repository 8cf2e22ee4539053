// Routes of API keys. A key is shown once, in the answer that made it.
#include <sodium.h>
#include <string.h>

#include "engine/api_key.h"
#include "model/json_field.h"
#include "server/job_view.h"
#include "server/server.h"

enum { PAGE_KEYS = 50, PAGE_KEYS_MAX = 500 };

struct keying {
    struct str role, name, cursor;
    struct texts projects;
    pawl_time expires_at;
    int64_t limit;
    struct key_request request;
    int64_t before;
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key_list list;
};

// ----- create

static const struct field create_body[] = {
    FIELD(struct keying, role, FIELD_TEXT, .required = true, .words = words_role,
          .summary = "what its holder may do"),
    FIELD(struct keying, name, FIELD_TEXT, .max = NAME_BYTES_MAX, .summary = "for people"),
    FIELD(struct keying, projects, FIELD_TEXTS, .max = KEY_PROJECTS_MAX,
          .summary = "only these projects; else all of the org"),
    FIELD(struct keying, expires_at, FIELD_TIME, .summary = "good until then; else for ever"),
};

static bool create_prepare(struct exchange *x, struct pawl_error *err)
{
    struct keying *k = x->data;
    k->request = (struct key_request){
        .world = x->server->pawl->world,
        .env = x->config->auth.environment,
        .org_id = x->caller.org_id,
        .name = k->name,
        .projects = k->projects.at,
        .project_count = k->projects.count,
        .expires_at = k->expires_at,
    };
    if (!role_parse(k->role, &k->request.role))
        problem_add(&x->problems, "role", "must be one of %.*s", STR(role_names()));
    key_request_check(&k->request, &x->caller, world_wall(x->server->pawl->world), &x->problems);
    return problems_none(&x->problems, err);
}

static bool create_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct keying *k = x->data;
    return key_create(tx, &k->request, &k->key, k->text, err);
}

static bool create_answer(struct exchange *x, struct pawl_error *err)
{
    struct keying *k = x->data;
    json_t *object = key_json(&x->arena, &k->key);
    if (object)
        json_object_set_new(object, "key", json_string(k->text));
    sodium_memzero(k->text, sizeof k->text);
    identities_forget(x->server->identities);
    return exchange_answer(x, 201, object, err);
}

// ----- list

static const struct field list_query[] = {
    FIELD(struct keying, limit, FIELD_NUMBER, .min = 1, .max = PAGE_KEYS_MAX,
          .summary = "how many at most; else 50"),
    FIELD(struct keying, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool list_prepare(struct exchange *x, struct pawl_error *err)
{
    struct keying *k = x->data;
    exchange_cursor(x, k->cursor, &k->before);
    return problems_none(&x->problems, err);
}

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct keying *k = x->data;
    return key_list(tx, k->before, k->limit ? k->limit : PAGE_KEYS, &k->list, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    struct keying *k = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < k->list.count; i++)
        json_array_append_new(items, key_json(&x->arena, &k->list.keys[i]));
    return exchange_answer(x, 200, exchange_page(x, items, k->list.next), err);
}

// ----- revoke

static bool revoke_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct keying *k = x->data;
    return key_revoke(tx, x->path_parts[0], &k->key, err);
}

static bool revoke_answer(struct exchange *x, struct pawl_error *err)
{
    struct keying *k = x->data;
    identities_forget(x->server->identities);
    return exchange_answer(x, 200, key_json(&x->arena, &k->key), err);
}

// ----- who am I

static bool session_answer(struct exchange *x, struct pawl_error *err)
{
    const struct identity *who = &x->identity;
    json_t *projects = json_array();
    for (size_t i = 0; i < who->project_count; i++)
        json_array_append_new(projects, json_stringn(who->projects[i].s, who->projects[i].n));
    const struct json_field fields[] = {
        { "org_id", json_text_or_null(who->org_id) },
        { "role", json_string(role_name(who->role)) },
        { "projects", projects },
        { "key_id", json_text_or_null(who->key_id) },
    };
    return exchange_answer(x, 200, json_object_of(fields, countof(fields)), err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/session", .permission = MAY_READ, .kind = ROUTE_NOW,
        .summary = "Who the caller is: org, role, projects, and the id of the key (none: open).",
        .answer = session_answer, .schema = "Session", .statuses = { 200 },
    },
    {
        .method = "POST", .path = "/v1/keys", .permission = MAY_KEYS, .kind = ROUTE_WRITE,
        .summary = "Makes a key of the caller's org. Its text is in this answer and nowhere else.",
        .data_bytes = sizeof(struct keying), .body = FIELDS(create_body), .body_size = BODY_SMALL,
        .prepare = create_prepare, .act = create_act, .answer = create_answer,
        .schema = "NewKey", .statuses = { 201, 422 },
    },
    {
        .method = "GET", .path = "/v1/keys", .permission = MAY_KEYS, .kind = ROUTE_READ,
        .summary = "The keys of the caller's org, newest first, without their texts.",
        .data_bytes = sizeof(struct keying), .query = FIELDS(list_query),
        .prepare = list_prepare, .act = list_act, .answer = list_answer,
        .schema = "KeyPage", .statuses = { 200, 422 },
    },
    {
        .method = "DELETE", .path = "/v1/keys/{id}", .permission = MAY_KEYS, .kind = ROUTE_WRITE,
        .summary = "Ends a key for good.", .data_bytes = sizeof(struct keying),
        .act = revoke_act, .answer = revoke_answer, .schema = "Key", .statuses = { 200, 404 },
    },
};
const struct routes routes_keys = { rows, countof(rows) };
