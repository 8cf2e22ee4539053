// Fields of requests: one row per field carries its name, its kind, its bounds, where it goes and
// what it means. The same rows read a body or a query and describe it in /openapi.json.
#pragma once

#include "base/json.h"
#include "base/world.h"
#include "server/sheet.h"
#include "server/words.h"

enum field_kind {
    FIELD_TEXT,      // struct str; bounds are its bytes
    FIELD_ID,        // struct id; a text that is no id at all is a problem
    FIELD_NUMBER,    // int64_t; bounds are its values
    FIELD_CLAMPED,   // int64_t; a number beyond its bounds is taken as the nearest
    FIELD_FLAG,      // bool
    FIELD_TIME,      // pawl_time; RFC 3339
    FIELD_DURATION,  // int64_t, microseconds; a text such as 30s; bounds are its values
    FIELD_TEXTS,     // struct texts; bounds are how many
    FIELD_OBJECT,    // const json_t *, borrowed from the body
    FIELD_OBJECTS,   // const json_t *, an array of objects; bounds are how many
    FIELD_VALUE,     // const json_t *; anything but null
    FIELD_KINDS
};

struct texts {
    struct str *at;
    size_t count;
};

struct field {
    const char *name;
    enum field_kind kind;
    bool required;
    int64_t min, max;     // 0 and 0: as the kind allows
    size_t offset;        // in the struct it is read into
    size_t given;         // offset of a bool that says it was there; 0: nobody asks
    const char *summary;  // one line
    // For /openapi.json; the route checks them:
    word_at *words;              // a text that is one of these
    const struct fields *inside; // the fields of an object
    const char *schema;          // what an object is, or each of a list, by its name there
};

// The rows of a struct: `static const struct field rows[] = { FIELD(struct claim_request, max, ...`
#define FIELD(type, member, field_kind, ...) \
    {                                                                                        \
        .name = #member, .kind = (field_kind), .offset = offsetof(type, member), __VA_ARGS__ \
    }

struct fields {
    const struct field *rows;
    size_t count;
};
#define FIELDS(array)           \
    {                           \
        (array), countof(array) \
    }

// Reads an object; each problem goes under its field with `prefix` before it, and a field without a
// row is one (422). null is "not given". What is not given, or cannot be read, stays as it is in
// `into`: the values of the others are checked all the same (problems_once).
bool fields_read(const struct fields *fields, const json_t *object, const char *prefix, void *into,
                 struct problems *problems);

// The same for one `name=value` of a query; false when there is no such field.
bool fields_read_query(const struct fields *fields, struct str name, struct str value, void *into,
                       struct problems *problems);

// The JSON Schema of one field, and of an object with these, for /openapi.json.
json_t *field_schema(struct sheet *sheet, const struct field *field);
json_t *fields_schema(struct sheet *sheet, const struct fields *fields);
