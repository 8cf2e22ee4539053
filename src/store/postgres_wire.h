// The wire to the server: statements are sent without waiting for the answers of those before.
//
// A round trip costs more than most statements do. So what is sent waits in a row until somebody
// wants an answer: then all answers are read, in their order. What the server has refused is told
// to whoever reads: the transaction is spoilt, and all that was sent behind it was not done.
#pragma once

#include "store/postgres.h"

// A statement of the server's, by its name; by its text where a session is shared with others.
struct phrase {
    const char *name, *text;
    bool *prepared;  // in this session, or on the way
};

// Binds the parameters of the next statement.
CHECKED bool wire_bind(struct postgres *postgres, const struct value *values, size_t count,
                       struct pawl_error *err);

CHECKED bool wire_prepare(struct postgres *postgres, struct phrase phrase,
                          struct pawl_error *err);

// Sends a statement with so many parameters. Its rows go to `answer`; NULL: nobody looks at them.
CHECKED bool wire_send(struct postgres *postgres, struct phrase phrase, size_t count,
                       struct answer *answer, struct pawl_error *err);

// The statement that was sent last must change so many rows, or it fails.
void wire_expect(struct postgres *postgres, int64_t changes);

bool wire_expects(const struct postgres *postgres);  // of something that is on its way

// Reads the answers of all that was sent.
CHECKED bool wire_read(struct postgres *postgres, struct pawl_error *err);

// The same, for what needs the connection for itself: plain text, or to learn about a statement.
CHECKED bool wire_clear(struct postgres *postgres, struct pawl_error *err);

// Nobody will look at this answer any more.
void wire_forget(struct answer *answer);

// What was sent is done at once; its answers are read later.
void wire_hurry(struct postgres *postgres);

// All that is on its way is a transaction of its own, which begins at once, and nobody cares what
// becomes of it.
void wire_let_go(struct postgres *postgres);
