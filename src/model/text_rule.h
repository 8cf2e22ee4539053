// What texts must look like: one predicate per kind. None of them looks at the length, which is up
// to the field; an empty text fits nowhere.
#pragma once

#include "base/text.h"

bool text_is_name(struct str text);         // A-Z a-z 0-9 . _ : -
bool text_is_type(struct str text);         // a name that starts with a letter or digit
bool text_is_key(struct str text);          // UTF-8 without control characters
bool text_is_uuid(struct str text);         // in lower case, as it is stored
bool text_is_traceparent(struct str text);  // W3C trace context

// The text of an error as it can be stored: within its maximum, whole characters, no NUL.
struct str text_clip(struct str text, size_t bytes_max);
