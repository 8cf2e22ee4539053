// A JSON document that is made piece by piece. One that lacks a piece, for want of memory, says so
// and is never shown.
#pragma once

#include "base/json.h"

struct sheet {
    struct arena *arena;
    bool incomplete;
};

// Each takes `value` over.
void sheet_put(struct sheet *sheet, json_t *object, const char *name, json_t *value);
void sheet_add(struct sheet *sheet, json_t *array, json_t *value);

// The same with a text.
void sheet_say(struct sheet *sheet, json_t *object, const char *name, const char *text);

// {"$ref": "#/components/<kind>/<name>"}
json_t *sheet_ref(struct sheet *sheet, const char *kind, const char *name);
