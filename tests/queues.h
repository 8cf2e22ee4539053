// What the tests of queues share: jobs of several orgs in several queues, and who looks at them.
#pragma once

#include "fixture.h"

#include "engine/queue.h"

#define ORG_A S("0198c7a2-0000-7000-8000-00000000000a")
#define ORG_B S("0198c7a2-0000-7000-8000-00000000000b")

// From now on the box's caller is of this org; empty: of every org.
void speak_for(struct box *box, struct str org);

// A job of an org in a queue; it may be held, delayed or have a serial key.
struct wish {
    struct str org, queue, serial_key;
    bool hold;
    int64_t delay_us;
};

struct contract queue_contract(struct box *box, const struct wish *wish);
struct job queue_add(struct box *box, struct wish wish);
void queue_add_many(struct box *box, struct wish wish, int count);  // in one transaction

// Claims as a runner of every org does, and starts what it gets.
size_t queue_claim(struct box *box, size_t limit, struct turns *turns, struct claimed **claimed);
size_t queue_take(struct box *box, size_t limit);

// What the box's caller sees of a queue; all zero when it does not see it.
struct queue_view queue_seen(struct box *box, struct str queue);
