// Job objects that must be refused, as raw text: generated from tables of fields and of ways to be
// wrong. The tests of the model, of the engine and of the command line run the same cases.
//
// The word `hunter2` stands for what somebody put into a payload: no message may repeat it.
#pragma once

#include "base/text.h"

enum { BAD_CONTRACT_BYTES_MAX = 4 << 20 };  // pass this to json_parse: no case is larger

struct bad_contract {
    struct str name;    // `priority: 9223372036854775808`
    struct str text;    // one line, maybe blank; any byte but a newline
    const char *field;  // what the refusal names, "" for the whole; NULL: the text is not JSON
    const char *says;   // what the refusal of text that is not JSON says
    size_t from, to;    // where in the text the bad member stands
    bool key_required;  // bad only where an idempotency_key is required
};

// All cases; each differs from a good job object in one member.
const struct bad_contract *bad_contracts(struct arena *arena, size_t *count);

// A good job object that ends with `member` (`"priority":7`), which replaces one of the same name.
struct str good_contract(struct arena *arena, struct str member);

// JSON as tests write it, with ' for ".
struct str json_quotes(struct arena *arena, const char *text);
