// Schemas of what the server answers: one table per object, one row per field.
//
// They are strict: an object has the fields of its rows and no others, and has all of them, so that
// an answer which differs is noticed by the tests that hold real answers against the document.
#pragma once

#include "server/sheet.h"
#include "server/words.h"

enum schema_kind {
    SCHEMA_TEXT,
    SCHEMA_ID,      // a UUID
    SCHEMA_TIME,    // RFC 3339
    SCHEMA_NUMBER,  // whole
    SCHEMA_FLAG,
    SCHEMA_OBJECT,  // `of` says which; without, any
    SCHEMA_VALUE,   // any JSON
    SCHEMA_COUNTS,  // an object with a number for each of its words
    SCHEMA_KINDS
};

enum schema_mark {
    NULLABLE = 1 << 0,
    LIST = 1 << 1,      // of what the kind says
    OPTIONAL = 1 << 2,  // may be left out
};

struct schema_field {
    const char *name;
    enum schema_kind kind;
    unsigned marks;
    word_at *words;         // NULL: any
    const char *of;       // another schema
    const char *summary;  // one line
};

// One of these: an object by its rows, a page of others, a choice between others, or a kind.
struct schema {
    const char *name;
    const char *summary;
    const char *extends;  // NULL; or the schema whose fields come first
    const struct schema_field *fields;
    size_t count;
    const char *page_of;
    const char *either[3];
    enum schema_kind kind;
};

const struct schema *schema_at(size_t index);  // NULL past the end

// The JSON Schema of each, by its name.
json_t *schemas_all(struct sheet *sheet);

// What a field of a schema means; NULL when there is no such field.
const char *schema_summary(const char *schema, const char *field);

// For the schemas of requests too: an object without properties yet that takes no others, and the
// words of a text as its `enum`, each once.
json_t *schema_object(struct sheet *sheet);
void schema_words(struct sheet *sheet, json_t *schema, word_at *words);

// Adds a property, and its name to `required`.
void schema_property(struct sheet *sheet, json_t *object, const char *name, json_t *schema,
                     bool required);
