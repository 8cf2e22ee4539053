// Time as people and JSON write it: RFC 3339 timestamps and durations like 500ms, 5s, 2m, 1h, 7d.
#pragma once

#include "base/world.h"

// A complete RFC 3339 timestamp with offset (`Z`, `+02:00`), years 1970 to 9999; fractions past the
// microsecond are cut. A leap second (23:59:60 UTC) is taken as the first instant of the next day.
bool time_parse(struct str text, pawl_time *time);

// `2026-08-22T10:00:00.123Z`: UTC with milliseconds, always 24 characters for years 1970 to 9999.
struct str time_text(struct arena *arena, pawl_time time);
void time_add(struct buf *buf, pawl_time time);

// A whole number and one unit of ms s m h d; not negative, at most 100 years (36525d).
bool duration_parse(struct str text, int64_t *microseconds);

// The shortest exact form: 90000000 is `90s`, 120000000 is `2m`, 0 is `0s`, 1500 is `1.5ms`.
struct str duration_text(struct arena *arena, int64_t microseconds);
