// One row per kind of alert.
#include "model/alert.h"

#include <assert.h>

#define DELAY_US SECONDS(1)
#define DELAY_US_MAX MINUTES(10)
#define ASKED_US_MAX HOURS(1)

enum { DOUBLINGS = 10 };
_Static_assert(DELAY_US << (DOUBLINGS - 1) <= DELAY_US_MAX, "the last doubling is not too long");

static const struct {
    const char *name;     // in the store, in messages and in the configuration: never change one
    const char *meaning;
    const char *look;
} kinds[] = {
    [ALERT_NONE] = { "", "", "" },
    [ALERT_DEAD_LETTER] = { "dead_letter", "a job became a dead letter", "pawl dead show" },
    [ALERT_SCHEDULED_FAILED] = { "scheduled_failed", "a scheduled job ended badly", "pawl show" },
    [ALERT_FINISH_FAILING] = { "finish_failing",
                               "the commit phase of a job fails again and again", "pawl show" },
};
_Static_assert(countof(kinds) == ALERT_KINDS, "one row per kind");

const char *alert_kind_name(enum alert_kind kind)
{
    assert(kind < ALERT_KINDS);
    return kinds[kind].name;
}

const char *alert_kind_meaning(enum alert_kind kind)
{
    assert(kind < ALERT_KINDS);
    return kinds[kind].meaning;
}

const char *alert_kind_look(enum alert_kind kind)
{
    assert(kind < ALERT_KINDS);
    return kinds[kind].look;
}

bool alert_kind_parse(struct str name, enum alert_kind *kind)
{
    for (unsigned i = 1; i < ALERT_KINDS; i++)
        if (str_eq(name, str_of(kinds[i].name)))
            return *kind = (enum alert_kind)i, true;
    return false;
}

int64_t alert_all_kinds(void)
{
    return alert_bit(ALERT_KINDS) - alert_bit(ALERT_NONE + 1);
}

struct str alert_key(struct arena *arena, enum alert_kind kind, struct id job)
{
    return str_format(arena, "%s:%.*s", alert_kind_name(kind), STR(id_text(arena, job)));
}

int64_t alert_delay_us(int64_t attempts, int64_t asked_us)
{
    int64_t doublings = attempts > 1 ? attempts - 1 : 0;
    int64_t delay = doublings < DOUBLINGS ? DELAY_US << doublings : DELAY_US_MAX;
    int64_t asked = asked_us < ASKED_US_MAX ? asked_us : ASKED_US_MAX;
    return delay > asked ? delay : asked;
}

// ----- allowances

static int64_t interval_us(const struct allowance *a)
{
    return MINUTES(1) / a->per_minute;
}

static int64_t missing_us(const struct allowance *a, int64_t now)
{
    return a->whole_at > now ? a->whole_at - now : 0;
}

int64_t allowance_left(const struct allowance *a, int64_t now)
{
    int64_t spent = (missing_us(a, now) + interval_us(a) - 1) / interval_us(a);
    return spent < a->burst ? a->burst - spent : 0;
}

void allowance_spend(struct allowance *a, int64_t now)
{
    a->whole_at = now + missing_us(a, now) + interval_us(a);
}

int64_t allowance_wait_us(const struct allowance *a, int64_t now)
{
    int64_t wait = missing_us(a, now) - (a->burst - 1) * interval_us(a);
    return wait > 0 ? wait : 0;
}
