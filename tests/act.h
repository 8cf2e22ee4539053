// Commands for tests: a job type whose work is `unruly MARK WORD...` (tests/programs/unruly.c).
//
//     struct act *act = ACT("copy");
//     act_begin(shop, act);
//     EXPECT_STR(act_end(shop, act), "SUCCEEDED");
//
// The mark is in the command line of everything the command starts, its supervisor included.
#pragma once

#include "process.h"
#include "server/command.h"
#include "shop.h"

enum { ACT_WORDS_MAX = 8 };

struct act {
    struct command_type type;
    char job_type[32], program[256], mark[64];
    char *run[ACT_WORDS_MAX + 3], *commit[ACT_WORDS_MAX + 3];
    struct pawl_ticket ticket;
};

#define ACT(...) act_new((const char *const[]){ __VA_ARGS__, NULL })
struct act *act_new(const char *const *words);  // each of a type of its own; tried once
void act_commit(struct act *act, const char *const *words);
#define ACT_COMMIT(act, ...) act_commit((act), (const char *const[]){ __VA_ARGS__, NULL })

void act_handle(struct pawl *pawl, const struct act *act);  // registers it
void act_enqueue(struct shop *shop, struct act *act, const char *payload);
void act_begin(struct shop *shop, struct act *act);  // both, with a started runner in between

// Waits for the end: its state, or failure type, class and message. Nothing of it lives then.
struct str act_end(struct shop *shop, struct act *act);
struct str act_result(struct shop *shop, struct act *act);

size_t act_alive(const struct act *act);  // processes

// The log of the job, each line in `<>`.
struct str act_log(struct shop *shop, const struct act *act);
