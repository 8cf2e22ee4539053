// The transactions of a sequence, its dice and its orgs.
#include "sequence.h"

#include "engine/api_key.h"

#include <stdio.h>

static struct str text(struct sequence *s, const char *format, uint64_t number)
{
    return str_format(&s->arena, "%s-%llu", format, (unsigned long long)number);
}

const struct str orgs[2] = { { "00000000-0000-7000-8000-000000000000", 36 },
                             { "00000000-0000-7000-8000-00000000000b", 36 } };

void sequence_meet_orgs(struct box *box)
{
    for (size_t i = 0; i < countof(orgs); i++) {
        int64_t org = 0;
        OK(org_intern(tx, orgs[i], &org, err));
    }
}

void sequence_begin(struct sequence *s, struct box *box, uint64_t seed)
{
    struct arena kept = s->arena;
    arena_reset(&kept);
    *s = (struct sequence){
        .box = box,
        .arena = kept,
        .seed = seed,
        .dice = seed * 7919,
        .match = { .focus = SIZE_MAX, .every = 8 },
    };
    s->match.model.arena = &s->arena;
    s->match.tx = &s->tx;
    box->world.dice = seed;  // alone or after others, a seed is the same sequence
    world_pass(&box->world, SECONDS(1) - box->world.wall % SECONDS(1));
    s->one_by_one = chance(s, 30);
    s->workers[0] = (struct worker){ S("anna"), S("one"), text(s, "boot", seed) };
    s->workers[1] = (struct worker){ S("bert"), S("one"), text(s, "boot", seed) };
    s->workers[2] = (struct worker){ S("carl"), S("two"), text(s, "boot", seed) };
    s->workers[3] = (struct worker){ .worker_id = S("dora") };
}

void sequence_end(struct sequence *s)
{
    moment_over(s);
    world_jump(&s->box->world, s->set_back_us);
    s->set_back_us = 0;
}

uint64_t roll(struct sequence *s)
{
    uint64_t number = s->dice += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

size_t pick(struct sequence *s, size_t count)
{
    return (size_t)(roll(s) % count);
}

bool chance(struct sequence *s, size_t percent)
{
    return pick(s, 100) < percent;
}

int64_t between(struct sequence *s, int64_t min, int64_t max)
{
    return min + (int64_t)(roll(s) % (uint64_t)(max - min + 1));
}

struct tx *moment(struct sequence *s, struct str org)
{
    if (!s->tx.open && !tx_begin(s->box->db, TX_WRITE, &s->arena, &s->tx, &s->match.err))
        differ(&s->match, "no transaction: %s", s->match.err.message);
    s->caller = s->box->caller;
    s->caller.org_id = org;
    s->tx.caller = &s->caller;
    s->match.model.org = org;
    s->match.model.now = s->tx.now;
    return &s->tx;
}

void moment_over(struct sequence *s)
{
    if (!s->tx.open)
        return;
    s->commits++;
    if (!tx_commit(&s->tx, &s->match.err) && !box_answer_lost(s->box, &s->tx, &s->match.err))
        differ(&s->match, "no commit: %s", s->match.err.message);
}

void answered(struct sequence *s, const char *what, bool done, enum pawl_code expected)
{
    answer(&s->match, what, done, expected);
    if (s->verbose)
        print_message("%3zu %+14.6f s  %-10s %-14s %s\n", s->operations,
                      (double)(s->match.model.now - SECONDS(1800000000)) / 1e6, what,
                      pawl_code(s->match.code)->word, done ? "" : s->match.err.message);
}

void compare_all(struct sequence *s, bool all)
{
    moment(s, S(""));
    compare(&s->match, all);
}
