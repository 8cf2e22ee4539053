// Joining is the only thing that threads and the caller agree upon.
#include "bench/crew.h"

static struct member *member_at(void *members, size_t size, long index)
{
    return (struct member *)((char *)members + size * (size_t)index);
}

bool crew_work(void *members, size_t size, long count, void *(*work)(void *member),
               struct pawl_error *err)
{
    long started = 0;
    for (; started < count; started++) {
        struct member *member = member_at(members, size, started);
        member->error = (struct pawl_error){0};
        if (pthread_create(&member->thread, NULL, work, member) != 0)
            break;
    }
    for (long i = 0; i < started; i++)
        pthread_join(member_at(members, size, i)->thread, NULL);
    if (started < count)
        return fail(err, PAWL_NO_MEMORY, "only %ld of %ld threads could be started", started,
                    count);
    for (long i = 0; i < count; i++) {
        const struct pawl_error *why = &member_at(members, size, i)->error;
        if (why->code != PAWL_OK)
            return fail(err, why->code, "%s", why->message);
    }
    return true;
}
