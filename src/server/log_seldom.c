// Of several threads that find it due at once, one says it.
#include "server/log_seldom.h"

#include "base/world.h"

bool seldom_due(struct seldom *seldom, int64_t now, int64_t *times)
{
    int64_t next = atomic_load(&seldom->next);
    atomic_fetch_add(&seldom->count, 1);
    if (now < next || !atomic_compare_exchange_strong(&seldom->next, &next, now + SECONDS(60)))
        return false;
    *times = atomic_exchange(&seldom->count, 0);
    return true;
}
