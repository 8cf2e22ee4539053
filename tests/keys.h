// Jobs with the idempotency keys `key-0`, `key-1` and so on, for tests of those keys.
#pragma once

#include "fixture.h"

enum { FEW = 8 };
void few_keys(struct box *box);  // opens the store anew, with FEW keys to a generation

struct contract contract_of_key(struct box *box, int number);

struct job must_be_new(struct box *box, int number);            // nobody has this key
void make_keys(struct box *box, struct id *ids, int count);     // 0 to count - 1, all new
void must_be(struct box *box, int number, struct id id);        // this job has it
void must_be_all(struct box *box, const struct id *ids, int count);

int64_t generations(struct box *box);  // how many there are
void end_job(struct box *box, struct id id);
