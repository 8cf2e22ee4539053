// JSON in and out: jansson does the parsing, this page adds our limits and our two ways of writing.
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

enum { JSON_DEPTH_MAX = 32, JSON_KEY_BYTES_MAX = 256 };

// Parses one complete JSON value of at most `bytes_max` bytes. Refuses, with line and column where
// there is one: bad UTF-8, NUL characters, duplicate keys in an object, numbers out of range, keys
// over JSON_KEY_BYTES_MAX, nesting over JSON_DEPTH_MAX, anything after the value. PAWL_TOO_LARGE
// for the size, PAWL_INVALID for the rest. On success the caller owns `*value`: SCOPED(json).
CHECKED bool json_parse(struct str text, size_t bytes_max, json_t **value, struct pawl_error *err);
// The value of a text that was checked before, or that we wrote ourselves: none of these limits.
// NULL when there is no memory. The caller owns it.
json_t *json_of(struct str text);
void json_end(json_t **value);  // for SCOPED(json); NULL is fine

// The value as compact JSON text. Order of keys, whole numbers (all 64 bits) and the difference
// between 1 and 1.0 are kept; other numbers are written in the shortest form that reads back equal.
struct str json_text(struct arena *arena, const json_t *value);

// The value as RFC 8785 canonical JSON: keys sorted by UTF-16 code units, numbers as ECMAScript
// writes them. Whole numbers beyond 2^53 keep all their digits, so that two different payloads
// never become one.
struct str json_canonical(struct arena *arena, const json_t *value);
