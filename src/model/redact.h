// Secrets in texts that Pawl did not write (OPS-10, OPS-12): log lines and error messages of
// commands and handlers. What looks like a secret becomes `***`, the rest stays readable.
//
// Masked are tokens of a well-known shape (secret.h; keys of Pawl are one), private keys, the word
// after `Bearer` or `Basic`, the password in a URL, and the value of whatever has a telling name:
// `password=...`, `"api_key": "..."`, `DB_PASSWORD=...`, `--token ...`.
#pragma once

#include "base/arena.h"
#include "base/text.h"

// The text without its secrets. It ends at a NUL, if it has one.
struct str redact(struct arena *arena, struct str text);

// The text without these values (NULL last), of which it is known that they are secrets. A value of
// several lines is looked for line by line; what is too short to be told from other words stays.
struct str redact_values(struct arena *arena, struct str text, char *const *values);

// The text of an error as it can be stored and shown: see text_clip.
struct str redact_error(struct arena *arena, struct str text, size_t bytes_max);

// The same for lines that come one by one: a private key has many, and `in_key` (false at first)
// tells that the next line is one of them.
struct str redact_line(struct arena *arena, struct str line, bool *in_key);
