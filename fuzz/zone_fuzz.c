// Any bytes as a time zone file: it is refused, or its clock never goes back.
#include <assert.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "model/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    SCOPED(arena) struct arena arena = {0};
    struct zone *zone = NULL;
    struct pawl_error err = {0};
    if (!zone_parse(&arena, S("fuzz"), (struct str){ (const char *)bytes, n }, &zone, &err)) {
        assert(err.code == PAWL_INVALID && err.message[0]);
        return 0;
    }
    for (int64_t local = -100000; local < (int64_t)1 << 38; local = local * 3 / 2 + 1000000) {
        int64_t first = zone_first(zone, local);
        struct zone_span span = zone_span(zone, first);
        assert(span.from <= first && first < span.until);
        assert(zone_reached(zone, first) >= local && zone_reached(zone, first - 1) < local);
    }
    return 0;
}
