// Time zones: what the clock on the wall shows, from the bytes of an IANA time zone file (TZif,
// RFC 8536, version 2 or later, with the rule for times after its last change).
//
// All numbers are whole seconds: instants since 1970-01-01T00:00:00Z, and local times counted the
// same way, as if the wall clock showed UTC. Local time can jump ahead (a gap: some local times
// never come) and back (an overlap: some come twice).
#pragma once

#include "base/error.h"

struct zone;  // lives in its arena

// `name` is kept with it, for people. PAWL_INVALID when the bytes are no time zone file, or one
// that counts leap seconds.
CHECKED bool zone_parse(struct arena *arena, struct str name, struct str bytes, struct zone **zone,
                        struct pawl_error *err);
const struct zone *zone_utc(void);
struct str zone_name(const struct zone *zone);

// A time in which the offset does not change.
struct zone_span {
    int64_t from, until;  // `until` is the first instant after it; far away when there is none
    int64_t offset;       // seconds east of UTC: local time - UTC
};

struct zone_span zone_span(const struct zone *zone, int64_t instant);

// The latest local time the clock has shown at or before an instant, counting what it jumped over:
// during the second pass of a repeated hour it stands still at the end of the first pass.
int64_t zone_reached(const struct zone *zone, int64_t instant);

// The first instant at which the clock shows a local time or a later one: the first of two, and for
// a time in a gap the first instant after it. zone_reached(zone, zone_first(zone, local)) >= local,
// and one second before it is < local.
int64_t zone_first(const struct zone *zone, int64_t local);

// `2026-03-29T03:00:00+02:00`, with a fraction only if there is one.
struct str zone_time_text(struct arena *arena, const struct zone *zone, pawl_time time);
