// One operation per route. What every route has in common (refusals, headers) is in the components.
#include "server/openapi.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "server/route.h"
#include "server/schema.h"

// ----- which refusals a route may have besides its own

static bool any(const struct route *route)
{
    (void)route;
    return true;
}

static bool asks_who(const struct route *route)
{
    return !route->open;
}

static bool takes_body(const struct route *route)
{
    return route->body_size != BODY_NONE;
}

static bool uses_store(const struct route *route)
{
    return !route->open || route->kind == ROUTE_READ || route->kind == ROUTE_WRITE;
}

static bool writes(const struct route *route)
{
    return route->kind == ROUTE_WRITE;
}

static const struct {
    int status;
    bool (*may)(const struct route *route);
} common[] = {
    { 400, any },        { 401, asks_who },   { 403, asks_who },   { 408, any },
    { 413, takes_body }, { 414, any },        { 415, takes_body }, { 421, asks_who },
    { 422, any },        { 429, asks_who },   { 431, any },        { 500, uses_store },
    { 503, any },        { 507, writes },
};

// ----- parameters

// What stands for a name in braces, by the place it is in.
static const struct {
    const char *path, *name, *format, *summary;
} path_names[] = {
    { "/v1/jobs/{id}", "id", "uuid", "job_id of the job" },
    { "/v1/executions/{id}", "id", "uuid", "exec_id of the execution" },
    { "/v1/executions/{id}/steps/{name}", "name", NULL, "the step: 1 to 256 bytes" },
    { "/v1/queues/{name}", "name", NULL, "the queue, such as q:default" },
    { "/v1/job_types/{name}", "name", NULL, "the type" },
    { "/v1/deadletter/{id}", "id", "uuid", "job_id of the dead letter" },
    { "/v1/batches/{id}", "id", "uuid", "batch_id of the batch" },
    { "/v1/schedules/{name}", "name", NULL, "the schedule" },
    { "/v1/artifacts/{id}", "id", "uuid", "artifact_id of the artifact" },
    { "/v1/keys/{id}", "id", NULL, "key_id of the key" },
    { "/v1/audit/{id}", "id", NULL, "event_id of the event" },
};

static json_t *path_parameter(struct sheet *sheet, const char *path, struct str name)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    json_t *parameter = json_pack("{s:s%,s:s,s:b,s:o}", "name", name.s, name.n, "in", "path",
                                  "required", true, "schema", schema);
    for (size_t i = 0; i < countof(path_names); i++)
        if (str_starts(str_of(path), str_of(path_names[i].path))
            && str_eq(name, str_of(path_names[i].name))) {
            sheet_say(sheet, parameter, "description", path_names[i].summary);
            if (path_names[i].format)
                sheet_say(sheet, schema, "format", path_names[i].format);
        }
    return parameter;
}

static void add_path_parameters(struct sheet *sheet, json_t *list, const char *path)
{
    struct str rest = str_of(path), before, name;
    while (str_cut(rest, '{', &before, &rest) && str_cut(rest, '}', &name, &rest))
        sheet_add(sheet, list, path_parameter(sheet, path, name));
}

static void add_query_parameters(struct sheet *sheet, json_t *list, const struct fields *query)
{
    for (size_t i = 0; i < query->count; i++) {
        const struct field *field = &query->rows[i];
        sheet_add(sheet, list,
                  json_pack("{s:s,s:s,s:b,s:s,s:o}", "name", field->name, "in", "query",
                            "required", field->required, "description", field->summary, "schema",
                            field_schema(sheet, field)));
    }
}

static json_t *checksum_parameter(void)
{
    return json_pack("{s:s,s:s,s:b,s:s,s:{s:s,s:i,s:i}}", "name", "X-Content-SHA256", "in",
                     "header", "required", false, "description",
                     "the SHA-256 of the body in hexadecimal: other bytes are refused", "schema",
                     "type", "string", "minLength", 64, "maxLength", 64);
}

// ----- answers

const char *openapi_content(const char *schema)
{
    static const char *const types[][2] = {
        { "Text", "text/plain" },
        { "EventStream", "text/event-stream" },
        { "Bytes", "application/octet-stream" },
    };
    for (size_t i = 0; i < countof(types); i++)
        if (strcmp(types[i][0], schema) == 0)
            return types[i][1];
    return "application/json";
}

static void add_header(struct sheet *sheet, json_t *response, const char *name)
{
    if (!json_object_get(response, "headers"))
        sheet_put(sheet, response, "headers", json_object());
    sheet_put(sheet, json_object_get(response, "headers"), name,
              sheet_ref(sheet, "headers", name));
}

static json_t *good(struct sheet *sheet, const struct route *route, int status)
{
    static const struct {
        int status;
        const char *means;
    } meanings[] = { { 200, "Done." }, { 201, "Made." }, { 202, "Asked for." } };
    const char *means = "Done.";
    for (size_t i = 0; i < countof(meanings); i++)
        if (meanings[i].status == status)
            means = meanings[i].means;
    json_t *response = json_pack("{s:s,s:{s:{s:o}}}", "description", means, "content",
                                 openapi_content(route->schema), "schema",
                                 sheet_ref(sheet, "schemas", route->schema));
    add_header(sheet, response, "X-Request-Id");
    if (status == 201)
        add_header(sheet, response, "Location");
    return response;
}

static const char *number(struct sheet *sheet, int status)
{
    return str_format(sheet->arena, "%d", status).s;
}

static void add_response(struct sheet *sheet, json_t *responses, const struct route *route,
                         int status)
{
    json_t *response = status < 400 ? good(sheet, route, status)
                                    : sheet_ref(sheet, "responses", number(sheet, status));
    sheet_put(sheet, responses, number(sheet, status), response);
}

static json_t *responses_of(struct sheet *sheet, const struct route *route)
{
    json_t *responses = json_object();
    for (size_t i = 0; i < countof(route->statuses) && route->statuses[i]; i++)
        add_response(sheet, responses, route, route->statuses[i]);
    for (size_t i = 0; i < countof(common); i++)
        if (common[i].may(route))
            add_response(sheet, responses, route, common[i].status);
    return responses;
}

// ----- who may

static json_t *security_of(const struct route *route)
{
    if (route->open)
        return json_array();
    if (route->open_on_loopback)
        return json_pack("[{},{s:[]}]", "key");
    return json_pack("[{s:[]}]", "key");
}

static struct str roles_text(struct sheet *sheet, unsigned permission)
{
    struct str text = S("");
    for (unsigned i = 0; i < ROLES; i++)
        if (role_may((enum role)i, permission))
            text = str_format(sheet->arena, "%.*s%s%s", STR(text), text.n ? ", " : "",
                              role_name((enum role)i));
    return text;
}

static void add_permission(struct sheet *sheet, json_t *operation, const struct route *route)
{
    const char *name;
    json_t *needed = json_array();
    for (unsigned i = 0; (name = permission_name(i)) != NULL; i++)
        if (route->permission & (1u << i))
            sheet_add(sheet, needed, json_string(name));
    sheet_put(sheet, operation, "x-pawl-permission", needed);
    struct str roles = roles_text(sheet, route->permission);
    sheet_say(sheet, operation, "description",
              route->open ? "For everybody."
                          : str_format(sheet->arena, "%sRoles: %.*s.",
                                       route->open_on_loopback ? "Open on loopback. " : "",
                                       STR(roles))
                                .s);
}

// ----- operations

// `POST /v1/jobs/{id}/cancel` is post_jobs_id_cancel.
static const char *operation_id(struct sheet *sheet, const struct route *route)
{
    struct buf id = buf_new(sheet->arena, 256);
    const char *path = strncmp(route->path, "/v1", 3) == 0 ? route->path + 3 : route->path;
    for (const char *s = route->method; *s; s++)
        buf_add_char(&id, (char)tolower((unsigned char)*s));
    for (const char *s = path; *s; s++)
        if (*s == '/' || isalnum((unsigned char)*s))
            buf_add_char(&id, *s == '/' ? '_' : *s);
    return str_cstr(sheet->arena, buf_str(&id));
}

// The part of the path after /v1; what is not below it belongs to the system.
static struct str tag_of(const struct route *route)
{
    struct str path = str_of(route->path), tag, rest;
    if (!str_starts(path, S("/v1/")))
        return S("system");
    str_cut((struct str){ path.s + 4, path.n - 4 }, '/', &tag, &rest);
    return tag;
}

static json_t *operation_of(struct sheet *sheet, const struct route *route)
{
    struct str tag = tag_of(route);
    json_t *parameters = json_array();
    json_t *operation = json_pack("{s:s,s:s,s:[s%]}", "operationId", operation_id(sheet, route),
                                  "summary", route->summary, "tags", tag.s, tag.n);
    add_permission(sheet, operation, route);
    sheet_put(sheet, operation, "security", security_of(route));
    add_path_parameters(sheet, parameters, route->path);
    add_query_parameters(sheet, parameters, &route->query);
    if (route->body_size == BODY_STREAM)
        sheet_add(sheet, parameters, checksum_parameter());
    sheet_put(sheet, operation, "parameters", parameters);
    if (takes_body(route))
        sheet_put(sheet, operation, "requestBody", openapi_body(sheet, route));
    sheet_put(sheet, operation, "responses", responses_of(sheet, route));
    return operation;
}

static json_t *paths(struct sheet *sheet)
{
    const struct route *route;
    json_t *all = json_object();
    for (size_t i = 0; (route = route_at(i)) != NULL; i++) {
        if (!json_object_get(all, route->path))
            sheet_put(sheet, all, route->path, json_object());
        struct buf method = buf_new(sheet->arena, 16);
        for (const char *s = route->method; *s; s++)
            buf_add_char(&method, (char)tolower((unsigned char)*s));
        sheet_put(sheet, json_object_get(all, route->path),
                  str_cstr(sheet->arena, buf_str(&method)), operation_of(sheet, route));
    }
    return all;
}

// ----- components

static json_t *headers(void)
{
    return json_pack("{s:{s:s,s:{s:s}},s:{s:s,s:{s:s}},s:{s:s,s:{s:s}}}",
                     "X-Request-Id", "description",
                     "as the caller sent it, or made here: in the log and the audit trail",
                     "schema", "type", "string",
                     "Location", "description", "where what was made is",
                     "schema", "type", "string",
                     "Retry-After", "description", "after so many seconds it may go better",
                     "schema", "type", "integer");
}

static json_t *codes_of(struct sheet *sheet, const struct refusal *refusal)
{
    json_t *codes = json_array();
    struct str rest = str_of(refusal->codes), word;
    for (unsigned i = 0; i < PAWL_CODES; i++)
        if (pawl_code((enum pawl_code)i)->http == refusal->status)
            sheet_add(sheet, codes, json_string(pawl_code((enum pawl_code)i)->word));
    while (rest.n > 0) {
        str_cut(rest, ' ', &word, &rest);
        sheet_add(sheet, codes, json_stringn(word.s, word.n));
    }
    return codes;
}

static json_t *refusals(struct sheet *sheet)
{
    const struct refusal *refusal;
    json_t *all = json_object();
    for (size_t i = 0; (refusal = refusal_at(i)) != NULL; i++) {
        json_t *response = json_pack("{s:s,s:o,s:{s:{s:o}}}", "description", refusal->title,
                                     "x-pawl-codes", codes_of(sheet, refusal), "content",
                                     "application/problem+json", "schema",
                                     sheet_ref(sheet, "schemas", "Problem"));
        add_header(sheet, response, "X-Request-Id");
        if (refusal->status == 429 || refusal->status == 503)
            add_header(sheet, response, "Retry-After");
        sheet_put(sheet, all, number(sheet, refusal->status), response);
    }
    return all;
}

static json_t *components(struct sheet *sheet)
{
    json_t *schemas = schemas_all(sheet);
    openapi_add_requests(sheet, schemas);
    return json_pack("{s:o,s:o,s:o,s:{s:{s:s,s:s,s:s}}}", "schemas", schemas, "responses",
                     refusals(sheet), "headers", headers(), "securitySchemes", "key", "type",
                     "http", "scheme", "bearer", "description",
                     "A key of one org. A server whose store has none yet needs none, and answers "
                     "only this machine.");
}

static const char about[] =
    "Durable background jobs. Objects are JSON in snake_case, times RFC 3339 in UTC with "
    "milliseconds, ids UUIDv7. A field that is null in a request counts as left out; an unknown "
    "one is refused. Whatever is refused is application/problem+json. Lists are read with "
    "`limit` and `cursor`. The headers X-Request-Id and traceparent are taken up and returned. "
    "A path that is not here is 404, a method that a path does not have 405. HEAD is there where "
    "GET is, and answers the same without the body; not for a stream.";

static json_t *document(struct sheet *sheet)
{
    return json_pack("{s:s,s:{s:s,s:s,s:s},s:[{s:s}],s:o,s:o}", "openapi", "3.1.0", "info",
                     "title", "Pawl", "version", pawl_version(), "description", about, "servers",
                     "url", "/", "paths", paths(sheet), "components", components(sheet));
}

// ----- once

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;  // guards `kept`
static char *kept;  // never freed: it lives as long as the process

static char *make(void)
{
    SCOPED(arena) struct arena arena = {0};
    struct sheet sheet = { .arena = &arena };
    SCOPED(json) json_t *whole = document(&sheet);
    bool complete = whole && !sheet.incomplete && !arena.failed;
    return complete ? json_dumps(whole, JSON_COMPACT) : NULL;
}

struct str openapi_text(void)
{
    pthread_mutex_lock(&making);
    if (!kept)
        kept = make();
    struct str text = kept ? str_of(kept) : S("");
    pthread_mutex_unlock(&making);
    return text;
}
