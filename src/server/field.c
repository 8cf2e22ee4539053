// One reader per kind, in a table: from JSON, from the text of a query, and as JSON Schema.
#include "server/field.h"

#include <assert.h>
#include <string.h>

#include "base/id.h"
#include "base/time_text.h"
#include "model/json_field.h"
#include "server/schema.h"

struct reading {
    const struct field *field;
    struct arena *arena;
    void *at;          // where the value goes
    const char *want;  // completes "must be ..." when it does not fit
};

static bool bounded(const struct field *f)
{
    return f->min != 0 || f->max != 0;
}

static bool within(struct reading *r, int64_t n, const char *unit)
{
    const struct field *f = r->field;
    if (!bounded(f) || (n >= f->min && n <= f->max))
        return true;
    r->want = str_format(r->arena, "%lld to %lld%s", (long long)f->min, (long long)f->max, unit).s;
    return false;
}

// ----- values

static bool take_text(struct reading *r, struct str text)
{
    if (!within(r, (int64_t)text.n, " bytes"))
        return false;
    *(struct str *)r->at = str_dup(r->arena, text);
    return true;
}

static bool take_id(struct reading *r, struct str text)
{
    return id_parse(text, r->at);
}

static bool take_number(struct reading *r, int64_t n)
{
    if (!within(r, n, ""))
        return false;
    *(int64_t *)r->at = n;
    return true;
}

static bool take_clamped(struct reading *r, int64_t n)
{
    const struct field *f = r->field;
    *(int64_t *)r->at = n < f->min ? f->min : n > f->max ? f->max
                                                         : n;
    return true;
}

static bool take_time(struct reading *r, struct str text)
{
    return time_parse(text, r->at);
}

static bool take_duration(struct reading *r, struct str text)
{
    const struct field *f = r->field;
    int64_t us = 0;
    if (!duration_parse(text, &us))
        return false;
    *(int64_t *)r->at = us;
    if (!bounded(f) || (us >= f->min && us <= f->max))
        return true;
    r->want = str_format(r->arena, "%.*s to %.*s", STR(duration_text(r->arena, f->min)),
                         STR(duration_text(r->arena, f->max)))
                  .s;
    return false;
}

// ----- from JSON

static struct str text_of(const json_t *value)
{
    return (struct str){ json_string_value(value), json_string_length(value) };
}

static bool json_text_in(struct reading *r, const json_t *value)
{
    return json_is_string(value) && take_text(r, text_of(value));
}

static bool json_id_in(struct reading *r, const json_t *value)
{
    return json_is_string(value) && take_id(r, text_of(value));
}

static bool json_number_in(struct reading *r, const json_t *value)
{
    return json_is_integer(value) && take_number(r, json_integer_value(value));
}

static bool json_clamped_in(struct reading *r, const json_t *value)
{
    return json_is_integer(value) && take_clamped(r, json_integer_value(value));
}

static bool json_flag_in(struct reading *r, const json_t *value)
{
    *(bool *)r->at = json_is_true(value);
    return json_is_boolean(value);
}

static bool json_time_in(struct reading *r, const json_t *value)
{
    return json_is_string(value) && take_time(r, text_of(value));
}

static bool json_duration_in(struct reading *r, const json_t *value)
{
    return json_is_string(value) && take_duration(r, text_of(value));
}

static bool json_texts_in(struct reading *r, const json_t *value)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || !within(r, (int64_t)count, " texts"))
        return false;
    struct texts texts = { arena_new(r->arena, struct str, count ? count : 1), 0 };
    for (; texts.at && texts.count < count; texts.count++) {
        const json_t *item = json_array_get(value, texts.count);
        if (!json_is_string(item) || json_string_length(item) == 0)
            return false;
        texts.at[texts.count] = str_dup(r->arena, text_of(item));
    }
    *(struct texts *)r->at = texts;
    return true;
}

static bool json_object_in(struct reading *r, const json_t *value)
{
    if (json_is_object(value))
        *(const json_t **)r->at = value;
    return json_is_object(value);
}

static bool json_objects_in(struct reading *r, const json_t *value)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || !within(r, (int64_t)count, " objects"))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!json_is_object(json_array_get(value, i)))
            return false;
    *(const json_t **)r->at = value;
    return true;
}

static bool json_value_in(struct reading *r, const json_t *value)
{
    *(const json_t **)r->at = value;
    return true;
}

// ----- from a query

static bool query_number_in(struct reading *r, struct str text)
{
    int64_t n = 0;
    return str_int(text, &n) && take_number(r, n);
}

static bool query_clamped_in(struct reading *r, struct str text)
{
    int64_t n = 0;
    return str_int(text, &n) && take_clamped(r, n);
}

static bool query_flag_in(struct reading *r, struct str text)
{
    *(bool *)r->at = str_eq(text, S("true"));
    return str_eq(text, S("true")) || str_eq(text, S("false"));
}

// ----- the kinds

static const struct kind {
    const char *want;
    bool (*from_json)(struct reading *r, const json_t *value);
    bool (*from_query)(struct reading *r, struct str text);  // NULL: not in a query
    const char *type, *format;                               // of JSON Schema; NULL: any, none
    const char *least, *most;                                // what its bounds are called there
} kinds[] = {
    [FIELD_TEXT]    = { "a text", json_text_in, take_text, "string", NULL,
                        "minLength", "maxLength" },
    [FIELD_ID]      = { "a UUIDv7", json_id_in, take_id, "string", "uuid", NULL, NULL },
    [FIELD_NUMBER]  = { "a whole number", json_number_in, query_number_in, "integer", NULL,
                        "minimum", "maximum" },
    [FIELD_CLAMPED] = { "a whole number", json_clamped_in, query_clamped_in, "integer", NULL,
                        NULL, NULL },
    [FIELD_FLAG]    = { "true or false", json_flag_in, query_flag_in, "boolean", NULL,
                        NULL, NULL },
    [FIELD_TIME]    = { "a time such as 2026-03-01T08:00:00Z", json_time_in, take_time, "string",
                        "date-time", NULL, NULL },
    [FIELD_DURATION] = { "a duration such as 500ms, 5s, 2m, 1h, 7d", json_duration_in,
                         take_duration, "string", NULL, NULL, NULL },
    [FIELD_TEXTS]   = { "a list of texts", json_texts_in, NULL, "array", NULL,
                        "minItems", "maxItems" },
    [FIELD_OBJECT]  = { "an object", json_object_in, NULL, "object", NULL, NULL, NULL },
    [FIELD_OBJECTS] = { "a list of objects", json_objects_in, NULL, "array", NULL,
                        "minItems", "maxItems" },
    [FIELD_VALUE]   = { "a value", json_value_in, NULL, NULL, NULL, NULL, NULL },
};
_Static_assert(countof(kinds) == FIELD_KINDS, "one row per kind");

static const struct field *find(const struct fields *fields, struct str name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (str_eq(str_of(fields->rows[i].name), name))
            return &fields->rows[i];
    return NULL;
}

static struct reading reading_of(const struct field *field, void *into, struct arena *arena)
{
    return (struct reading){ .field = field,
                             .arena = arena,
                             .at = (char *)into + field->offset,
                             .want = kinds[field->kind].want };
}

static void given(const struct field *field, void *into)
{
    if (field->given)
        *(bool *)((char *)into + field->given) = true;
}

static const char *named(const char *prefix, const char *name, struct arena *arena)
{
    return *prefix ? str_format(arena, "%s%s", prefix, name).s : name;
}

// The field that an unknown one was probably meant for, or what there is.
static void unknown(const struct fields *fields, const char *prefix, const char *name,
                    struct problems *problems)
{
    const char *field = named(prefix, name, problems->arena);
    for (size_t i = 0; i < fields->count; i++)
        if (json_key_like(fields->rows[i].name, name)) {
            problem_add(problems, field, "is not known: it is written %s", fields->rows[i].name);
            return;
        }
    problem_add(problems, field, "is not known here");
}

static void read_all(const struct fields *fields, const json_t *object, const char *prefix,
                     void *into, struct problems *problems)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_iterable(object), name, value) {
        const struct field *field = find(fields, str_of(name));
        if (!field) {
            unknown(fields, prefix, name, problems);
            continue;
        }
        if (json_is_null(value))
            continue;
        struct reading r = reading_of(field, into, problems->arena);
        if (kinds[field->kind].from_json(&r, value))
            given(field, into);
        else
            problem_add(problems, named(prefix, name, problems->arena), "must be %s", r.want);
    }
}

bool fields_read(const struct fields *fields, const json_t *object, const char *prefix, void *into,
                 struct problems *problems)
{
    size_t before = problems->count;
    assert(json_is_object(object));
    read_all(fields, object, prefix, into, problems);
    for (size_t i = 0; i < fields->count; i++) {
        const struct field *field = &fields->rows[i];
        const json_t *value = json_object_get(object, field->name);
        if (field->required && (!value || json_is_null(value)))
            problem_add(problems, named(prefix, field->name, problems->arena), "must be given");
    }
    return problems->count == before;
}

bool fields_read_query(const struct fields *fields, struct str name, struct str value, void *into,
                       struct problems *problems)
{
    const struct field *field = find(fields, name);
    const char *text = str_cstr(problems->arena, name);
    if (!field || !kinds[field->kind].from_query) {
        problem_add(problems, text, "is not known here");
        return false;
    }
    struct reading r = reading_of(field, into, problems->arena);
    if (!kinds[field->kind].from_query(&r, value)) {
        problem_add(problems, text, "must be %s", r.want);
        return false;
    }
    given(field, into);
    return true;
}

// ----- documentation

static json_t *inside(struct sheet *sheet, const struct field *field)
{
    if (field->schema)
        return sheet_ref(sheet, "schemas", field->schema);
    if (field->inside)
        return fields_schema(sheet, field->inside);
    return json_pack("{s:s}", "type", field->kind == FIELD_TEXTS ? "string" : "object");
}

static json_t *bounded_schema(struct sheet *sheet, const struct field *field)
{
    const struct kind *kind = &kinds[field->kind];
    json_t *schema = json_object();
    if (kind->type)
        sheet_say(sheet, schema, "type", kind->type);
    if (kind->format)
        sheet_say(sheet, schema, "format", kind->format);
    if (kind->least && bounded(field)) {
        sheet_put(sheet, schema, kind->least, json_integer(field->min));
        sheet_put(sheet, schema, kind->most, json_integer(field->max));
    }
    if (field->words)
        schema_words(sheet, schema, field->words);
    return schema;
}

json_t *field_schema(struct sheet *sheet, const struct field *field)
{
    bool list = field->kind == FIELD_TEXTS || field->kind == FIELD_OBJECTS;
    json_t *schema = field->kind == FIELD_OBJECT ? inside(sheet, field)
                                                 : bounded_schema(sheet, field);
    if (list)
        sheet_put(sheet, schema, "items", inside(sheet, field));
    sheet_say(sheet, schema, "description", field->summary);
    return schema;
}

json_t *fields_schema(struct sheet *sheet, const struct fields *fields)
{
    json_t *object = schema_object(sheet);
    for (size_t i = 0; i < fields->count; i++)
        schema_property(sheet, object, fields->rows[i].name,
                        field_schema(sheet, &fields->rows[i]), fields->rows[i].required);
    return object;
}
