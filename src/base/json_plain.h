// Whether a text is plain JSON: a scan that builds nothing, for the many texts that need no more.
//
// It knows a part of JSON, and of that part json_parse takes everything. What it does not know (an
// escape in a key, a number with an exponent, deep nesting, many keys in one object, and all that
// is wrong) is for json_parse to judge.
#pragma once

#include <jansson.h>

#include "base/text.h"

// `key_fits` is asked about every key, and may be NULL: a key that does not fit is not plain.
bool json_plain(struct str text, bool (*key_fits)(struct str key));

// The value of a plain object or list without escapes, in a third of the time that jansson takes.
// NULL when it is none, or there is no memory: json_parse then finds out. The caller owns it.
json_t *json_plain_value(struct str text);
