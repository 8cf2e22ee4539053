// What the tests of limits share.
#pragma once

#include "engine/limit.h"
#include "queues.h"

// Sets a limit as an operator does, and says what is wrong with it otherwise.
void limit_on(struct box *box, enum limit_scope scope, struct str name, struct limit limit);
struct rate rate_of(const char *text);

// A job of ORG_A, or of another org, of a type, with a limit key or none.
struct mail {
    const char *type;
    struct str org, key, queue;
};
struct job limited_add(struct box *box, struct mail wish);
void limited_add_many(struct box *box, struct mail wish, int count);

// Claims as a runner of every org does. What it gets is started; leases are worker `W`'s.
size_t limited_claim(struct box *box, size_t max, struct claimed **claimed, pawl_time *more_at);
void limited_commit(struct box *box, const struct claimed *claimed);  // commit and done
