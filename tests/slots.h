// A schedule every five minutes, and the scheduler's tick by hand.
#pragma once

#include "engine/slot.h"
#include "fixture.h"

extern const struct instance me;  // the scheduler's process

struct schedule every_five_minutes(void);
void put(struct box *box, const struct schedule *schedule);
struct schedule_view seen(struct box *box, const char *name);

struct scheduling tick_as(struct box *box, const struct instance *instance);
struct scheduling tick(struct box *box);  // as `me`
void to_next_slot(struct box *box);       // and a second more
pawl_time slot_before_now(struct box *box);
void work(struct box *box);               // runs the one job there is to its good end

int64_t runs(struct box *box, const char *status);   // LIKE
int64_t skips(struct box *box, const char *reason);  // slots
