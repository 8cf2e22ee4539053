// Joins the file (base/tzdata.h) and what it means (model/zone.h).
#include "engine/zone_load.h"

#include "base/tzdata.h"

bool zone_load(struct arena *arena, struct str name, const struct zone **zone,
               struct pawl_error *err)
{
    struct str bytes;
    struct zone *read = NULL;
    if (str_eq(name, S("UTC"))) {
        *zone = zone_utc();
        return true;
    }
    if (!tzdata_read(arena, name, &bytes, err) || !zone_parse(arena, name, bytes, &read, err))
        return false;
    *zone = read;
    return true;
}
