// JSON written straight into a text, for what is published by the thousand: a value that is made
// only to be written would cost ten times as much.
//
// `name` is the field's; NULL: an item of a list, or the whole. Commas come by themselves. Whether
// there was memory for all of it says the buffer's `full`, once, at the end.
#pragma once

#include "base/id.h"
#include "base/text.h"
#include "base/world.h"

void json_put_open(struct buf *out, const char *name, char bracket);  // '{' or '['
void json_put_close(struct buf *out, char bracket);                   // '}' or ']'

void json_put_int(struct buf *out, const char *name, int64_t number);
void json_put_bool(struct buf *out, const char *name, bool value);

// Empty text, time 0 and id 0 mean "none" and are written as null.
void json_put_text(struct buf *out, const char *name, struct str text);
void json_put_time(struct buf *out, const char *name, pawl_time time);
void json_put_id(struct buf *out, const char *name, struct id id);

// A text that is JSON: whoever stored it has checked it.
void json_put_raw(struct buf *out, const char *name, struct str json);

// Only the text between its quotation marks, as RFC 8785 has it.
void json_put_string(struct buf *out, struct str text);
