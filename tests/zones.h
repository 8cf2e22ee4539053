// Time zones in tests: every name this system knows, and the clock of the C library beside ours.
#pragma once

#include "model/zone.h"

struct zone_names {
    const char **names;
    size_t count;
};

struct zone_names zone_names(void);  // of zone.tab, and UTC

const struct zone *must_zone(const char *name);

// From here on the C library's local time is this zone's, or by this rule.
void clock_in(const char *name);
void clock_by(const char *rule);
int64_t clock_local(int64_t instant);  // what it shows, as model/zone.h counts local times

int64_t must_seconds(const char *text);  // an RFC 3339 timestamp, in seconds since 1970

// Numbers that follow a seed, from 0 to `below` - 1.
int64_t draw(uint64_t *dice, int64_t below);
