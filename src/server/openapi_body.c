// What is sent: bodies by the fields of their routes, jobs by the rows of the contract, operations
// of a batch by the routes that do each of them alone.
#include <string.h>

#include "model/contract.h"
#include "server/openapi.h"
#include "server/route.h"
#include "server/schema.h"

static json_t *body_schema(struct sheet *sheet, const struct route *route)
{
    if (route->body_schema)
        return sheet_ref(sheet, "schemas", route->body_schema);
    return fields_schema(sheet, &route->body);
}

json_t *openapi_body(struct sheet *sheet, const struct route *route)
{
    const char *type = route->body_size == BODY_STREAM ? openapi_content(route->body_schema)
                                                       : "application/json";
    return json_pack("{s:b,s:{s:{s:o}}}", "required", !route->body_optional, "content", type,
                     "schema", body_schema(sheet, route));
}

// ----- jobs

// What is sent and not in the job that is answered.
static const char *only_sent(const char *name)
{
    static const char *const meanings[][2] = {
        { "submit", "false leaves it CREATED until it is submitted" },
        { "authorized_by", "who allows it to write, where its type asks for that" },
    };
    for (size_t i = 0; i < countof(meanings); i++)
        if (strcmp(meanings[i][0], name) == 0)
            return meanings[i][1];
    return NULL;
}

// What the field means, and what it must look like.
static void describe(struct sheet *sheet, json_t *schema, const struct contract_field *field)
{
    const char *meaning = schema_summary("Job", field->name);
    meaning = meaning ? meaning : only_sent(field->name);
    sheet_say(sheet, schema, "description",
              meaning ? str_format(sheet->arena, "%s: %s", meaning, field->must_be).s
                      : field->must_be);
}

static json_t *contract_schema(struct sheet *sheet)
{
    struct contract_field field;
    json_t *object = schema_object(sheet);
    for (size_t i = 0; contract_field_at(i, &field); i++) {
        bool list = strcmp(field.type, "array") == 0;
        json_t *item = json_pack("{s:s}", "type", list ? "string" : field.type);
        if (field.format)
            sheet_say(sheet, item, "format", field.format);
        json_t *schema = list ? json_pack("{s:s,s:o}", "type", "array", "items", item) : item;
        describe(sheet, schema, &field);
        schema_property(sheet, object, field.name, schema, field.sent);
    }
    sheet_say(sheet, object, "description",
              "A job to be stored. `idempotency_key` may be left out only where the configuration "
              "has a recipe for the keys of its type.");
    return object;
}

static json_t *contracts_schema(struct sheet *sheet)
{
    json_t *object = schema_object(sheet);
    schema_property(sheet, object, "jobs",
                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "minItems", 1, "items",
                              sheet_ref(sheet, "schemas", "NewJob"), "description",
                              "at most limits.bulk_jobs, 1,000 unless configured"),
                    true);
    return object;
}

// ----- operations of a batch

static const char single[] = "/v1/executions/{id}/";

static bool is_operation(const struct route *route)
{
    return strcmp(route->method, "POST") == 0
        && strncmp(route->path, single, sizeof single - 1) == 0;
}

static json_t *operation_schema(struct sheet *sheet, const struct route *route)
{
    json_t *object = fields_schema(sheet, &route->body);
    schema_property(sheet, object, "op",
                    json_pack("{s:s}", "const", route->path + sizeof single - 1), true);
    schema_property(sheet, object, "exec_id",
                    json_pack("{s:s,s:s}", "type", "string", "format", "uuid"), true);
    sheet_say(sheet, object, "description", route->summary);
    return object;
}

static json_t *operations_schema(struct sheet *sheet)
{
    const struct route *route;
    json_t *choices = json_array();
    for (size_t i = 0; (route = route_at(i)) != NULL; i++)
        if (is_operation(route))
            sheet_add(sheet, choices, operation_schema(sheet, route));
    return json_pack("{s:o}", "oneOf", choices);
}

void openapi_add_requests(struct sheet *sheet, json_t *schemas)
{
    sheet_put(sheet, schemas, "Enqueue",
              json_pack("{s:[o,o]}", "oneOf", sheet_ref(sheet, "schemas", "NewJob"),
                        sheet_ref(sheet, "schemas", "NewJobs")));
    sheet_put(sheet, schemas, "NewJob", contract_schema(sheet));
    sheet_put(sheet, schemas, "NewJobs", contracts_schema(sheet));
    sheet_put(sheet, schemas, "Operation", operations_schema(sheet));
}
