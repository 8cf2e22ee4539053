// Secrets in payloads are refused (OPS-10): a payload is stored, backed up and shown to operators.
//
// Two signs: a key whose name says so (`password`, `api_key`) with text in it, and text of a
// well-known shape (a private key, a cloud or API key). A reference to a secret passes.
#pragma once

#include "base/json.h"

// Adds a problem under the path of every secret in `value`, which itself is called `path`:
// `payload.smtp.password`. True when there was none. Never repeats the text.
bool secret_none(const json_t *value, const char *path, struct problems *problems);

// A first look at a payload as text: false when secret_none would find nothing in it, whatever it
// says. Its keys are asked about one by one.
bool secret_possible(struct str text);
bool secret_key_plain(struct str key);  // at most JSON_KEY_BYTES_MAX, without escapes: no sign

// The two signs by themselves, for redact.h. The texts end in NUL.
bool secret_named(const char *key);
size_t secret_bytes(const char *text, const char *s);  // of one that begins at `s` in it; 0: none
