// Answers what is due: reads lines of zone, start (seconds since 1970), count and expression, with
// tabs between them, and prints the slots after the start, in seconds since 1970; or, after a `!`,
// why there are none.
#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "engine/zone_load.h"
#include "model/timetable.h"

static bool answer(struct arena *arena, struct str line, struct pawl_error *err)
{
    struct str zone, start, count, expression;
    struct timetable timetable = {0};
    int64_t seconds = 0, wanted = 0;
    pawl_time slot;
    if (!str_cut(line, '\t', &zone, &line) || !str_cut(line, '\t', &start, &line)
        || !str_cut(line, '\t', &count, &expression) || !str_int(start, &seconds)
        || !str_int(count, &wanted))
        return fail(err, PAWL_USAGE, "a line is zone, start, count and expression");
    if (!zone_load(arena, zone, &timetable.zone, err)
        || !cron_parse(expression, &timetable.cron, err))
        return false;
    slot = SECONDS(seconds);
    for (; wanted > 0 && timetable_next(&timetable, slot, &slot); wanted--)
        printf("%" PRId64 " ", slot / SECONDS(1));
    putchar('\n');
    return true;
}

int main(void)
{
    char line[1024];
    SCOPED(arena) struct arena arena = {0};
    while (fgets(line, sizeof(line), stdin)) {
        struct pawl_error err = {0};
        struct str text, rest;
        (void)str_cut(str_of(line), '\n', &text, &rest);  // the last line may have no end
        if (!answer(&arena, text, &err))
            printf("! %s\n", err.message);
        arena_reset(&arena);
    }
    return ferror(stdin) || fflush(stdout) != 0;
}
