// Ids: UUIDv7 made by us, in two numbers.
//
// `high` is 48 bits of milliseconds and 12 bits of counter: it always rises, is the key of its row,
// and so needs no index of its own. `low` is 62 random bits that make the id unguessable; every
// look-up by id compares both.
#pragma once

#include "base/world.h"

struct id {
    int64_t high;
    int64_t low;
};

enum { ID_TEXT = 36 };

bool id_parse(struct str text, struct id *id);  // lower or upper case, version 7 only
void id_format(struct id id, char text[ID_TEXT + 1]);
struct str id_text(struct arena *arena, struct id id);
bool id_eq(struct id a, struct id b);

// The id after `last_high`: the clock's when it has moved on, else counted on from the last, so
// that ids rise even when the clock goes back or more than 4,096 are made in one millisecond.
struct id id_after(int64_t last_high, pawl_time now, uint64_t random);

// Any UUID in canonical form, as org_id and project_id may be. Lower case only: they are compared
// as text, and an upper-case spelling would be a second tenant.
bool uuid_valid(struct str text);
