// From rows to JSON Schema.
#include "server/schema.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *type;  // NULL: any
    const char *format;
} kinds[] = {
    [SCHEMA_TEXT] = { "string", NULL },
    [SCHEMA_ID] = { "string", "uuid" },
    [SCHEMA_TIME] = { "string", "date-time" },
    [SCHEMA_NUMBER] = { "integer", NULL },
    [SCHEMA_FLAG] = { "boolean", NULL },
    [SCHEMA_OBJECT] = { "object", NULL },
    [SCHEMA_VALUE] = { NULL, NULL },
    [SCHEMA_COUNTS] = { "object", NULL },
};
_Static_assert(countof(kinds) == SCHEMA_KINDS, "one row per kind");

json_t *schema_object(struct sheet *sheet)
{
    json_t *object = json_object();
    sheet_say(sheet, object, "type", "object");
    sheet_put(sheet, object, "properties", json_object());
    sheet_put(sheet, object, "additionalProperties", json_false());
    return object;
}

void schema_property(struct sheet *sheet, json_t *object, const char *name, json_t *schema,
                     bool required)
{
    sheet_put(sheet, json_object_get(object, "properties"), name, schema);
    if (!required)
        return;
    if (!json_object_get(object, "required"))
        sheet_put(sheet, object, "required", json_array());
    sheet_add(sheet, json_object_get(object, "required"), json_string(name));
}

static bool has_word(const json_t *list, const char *word)
{
    size_t i;
    json_t *item;
    json_array_foreach (list, i, item)
        if (strcmp(json_string_value(item), word) == 0)
            return true;
    return false;
}

void schema_words(struct sheet *sheet, json_t *schema, word_at *words)
{
    const char *word;
    json_t *list = json_array();
    for (unsigned i = 0; (word = words(i)) != NULL; i++)
        if (!has_word(list, word))
            sheet_add(sheet, list, json_string(word));
    sheet_put(sheet, schema, "enum", list);
}

// ----- fields

static json_t *counts_schema(struct sheet *sheet, word_at *words)
{
    const char *word;
    json_t *object = schema_object(sheet);
    for (unsigned i = 0; (word = words(i)) != NULL; i++)
        schema_property(sheet, object, word, json_pack("{s:s}", "type", "integer"), true);
    return object;
}

static json_t *kind_schema(struct sheet *sheet, enum schema_kind kind)
{
    json_t *schema = json_object();
    if (kinds[kind].type)
        sheet_say(sheet, schema, "type", kinds[kind].type);
    if (kinds[kind].format)
        sheet_say(sheet, schema, "format", kinds[kind].format);
    return schema;
}

static json_t *single_schema(struct sheet *sheet, const struct schema_field *field)
{
    if (field->of)
        return sheet_ref(sheet, "schemas", field->of);
    if (field->kind == SCHEMA_COUNTS)
        return counts_schema(sheet, field->words);
    json_t *schema = kind_schema(sheet, field->kind);
    if (field->words)
        schema_words(sheet, schema, field->words);
    return schema;
}

// A type that may also be null says both; what has none, a reference, becomes a choice.
static json_t *or_null(struct sheet *sheet, json_t *schema)
{
    json_t *type = json_object_get(schema, "type");
    json_t *words = json_object_get(schema, "enum");
    json_t *null = json_pack("{s:s}", "type", "null");
    if (!type)
        return json_pack("{s:[o,o]}", "anyOf", schema, null);
    json_decref(null);
    sheet_put(sheet, schema, "type", json_pack("[O,s]", type, "null"));
    if (words)
        sheet_add(sheet, words, json_null());
    return schema;
}

static json_t *field_of_answer(struct sheet *sheet, const struct schema_field *field)
{
    json_t *schema = single_schema(sheet, field);
    if (field->marks & LIST)
        schema = json_pack("{s:s,s:o}", "type", "array", "items", schema);
    if ((field->marks & NULLABLE) && field->kind != SCHEMA_VALUE)
        schema = or_null(sheet, schema);
    sheet_say(sheet, schema, "description", field->summary);
    return schema;
}

static void add_fields(struct sheet *sheet, json_t *object, const struct schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct schema_field *field = &schema->fields[i];
        schema_property(sheet, object, field->name, field_of_answer(sheet, field),
                        !(field->marks & OPTIONAL));
    }
}

// ----- schemas

static const struct schema *find(const char *name)
{
    const struct schema *schema;
    for (size_t i = 0; (schema = schema_at(i)) != NULL; i++)
        if (strcmp(schema->name, name) == 0)
            return schema;
    return NULL;
}

const char *schema_summary(const char *name, const char *field)
{
    const struct schema *schema = find(name);
    for (size_t i = 0; schema && i < schema->count; i++)
        if (strcmp(schema->fields[i].name, field) == 0)
            return schema->fields[i].summary;
    return NULL;
}

static void add_all_fields(struct sheet *sheet, json_t *object, const struct schema *schema)
{
    const struct schema *base = schema->extends ? find(schema->extends) : NULL;
    assert(base || !schema->extends);
    if (base)
        add_all_fields(sheet, object, base);
    add_fields(sheet, object, schema);
}

static json_t *object_schema(struct sheet *sheet, const struct schema *schema)
{
    json_t *object = schema_object(sheet);
    add_all_fields(sheet, object, schema);
    return object;
}

static json_t *page_schema(struct sheet *sheet, const struct schema *schema)
{
    const struct schema_field rows[] = {
        { "items", SCHEMA_OBJECT, LIST, NULL, schema->page_of, "what was found" },
        { "next_cursor", SCHEMA_TEXT, NULLABLE, NULL, NULL,
          "`cursor` of the next page; null: that was all" },
    };
    return object_schema(sheet, &(struct schema){ .fields = rows, .count = countof(rows) });
}

static json_t *choice_schema(struct sheet *sheet, const struct schema *schema)
{
    json_t *choices = json_array();
    for (size_t i = 0; i < countof(schema->either) && schema->either[i]; i++)
        sheet_add(sheet, choices, sheet_ref(sheet, "schemas", schema->either[i]));
    return json_pack("{s:o}", "oneOf", choices);
}

static json_t *schema_json(struct sheet *sheet, const struct schema *schema)
{
    json_t *json = schema->fields    ? object_schema(sheet, schema)
                   : schema->page_of   ? page_schema(sheet, schema)
                   : schema->either[0] ? choice_schema(sheet, schema)
                                       : kind_schema(sheet, schema->kind);
    if (schema->summary)
        sheet_say(sheet, json, "description", schema->summary);
    return json;
}

json_t *schemas_all(struct sheet *sheet)
{
    const struct schema *schema;
    json_t *all = json_object();
    for (size_t i = 0; (schema = schema_at(i)) != NULL; i++)
        sheet_put(sheet, all, schema->name, schema_json(sheet, schema));
    return all;
}
