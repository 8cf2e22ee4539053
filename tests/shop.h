// A program that uses Pawl through its public header, for tests of the runner: a store of its own,
// a log it can ask, and handlers that wait until they are let go.
//
//     TEST_SHOP(RUN_1_a_handler_runs, .virtual_time = true)
//     {
//         struct counts n = {0};
//         shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &n });
//         struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ "greet" });
//         shop_work(shop);
//         EXPECT_STATE(shop, ticket, "SUCCEEDED");
//     }
//
// When the test ends its store must pass `verify`.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#include <pawl.h>

enum { SHOP_LOG_BYTES = 1 << 18 };

struct shop {
    struct box box;
    struct pawl *pawl;
    struct pawl_options options;
    char url[256];
    pthread_mutex_t mutex;  // guards the log
    char log[SHOP_LOG_BYTES];
};

void shop_open(struct shop *shop);   // with its options
void shop_close(struct shop *shop);  // closes the handle, if it is open, and verifies
void shop_leave(struct shop *shop);  // closes the handle only; box.db is open then
void shop_enter(struct shop *shop);  // opens it again

#define TEST_SHOP(name, ...)                                                   \
    static void name##_in(struct shop *shop);                                  \
    TEST(name)                                                                 \
    {                                                                          \
        struct shop *shop = calloc(1, sizeof *shop);                           \
        shop->options = (struct pawl_options){ __VA_ARGS__ };                  \
        shop_open(shop);                                                       \
        name##_in(shop);                                                       \
        shop_close(shop);                                                      \
        free(shop);                                                            \
    }                                                                          \
    static void name##_in(struct shop *shop)

void shop_handle(struct shop *shop, struct pawl_handler handler);
void shop_policy(struct shop *shop, struct pawl_policy policy);
void shop_start(struct shop *shop);
struct pawl_ticket shop_enqueue(struct shop *shop, struct pawl_job job);
struct pawl_status shop_status(struct shop *shop, const struct pawl_ticket *ticket);
void shop_work(struct shop *shop);  // pawl_run_until_idle
void shop_pass(struct shop *shop, int64_t microseconds);
struct pawl_status shop_wait(struct shop *shop, const struct pawl_ticket *ticket);  // to its end
const char *shop_json(struct shop *shop, const struct pawl_ticket *ticket);
void shop_sql(struct shop *shop, const char *sql);  // of the application, in a transaction

size_t shop_lines(struct shop *shop, const char *words);  // lines of the log that have them
bool shop_said_before(struct shop *shop, const char *first, const char *second);
int64_t shop_number(struct shop *shop, const char *sql);  // read behind the library's back

void expect_state(struct shop *shop, const struct pawl_ticket *ticket, const char *state,
                  struct place place);
#define EXPECT_STATE(shop, ticket, state) expect_state((shop), &(ticket), (state), PLACE(state))

// Asks again and again until it is so. Fails the test when it never is.
#define WAIT_FOR(condition)                                     \
    do {                                                        \
        int64_t tries_ = 0;                                     \
        while (!(condition))                                    \
            wait_a_little(++tries_, PLACE(#condition));         \
    } while (0)
void wait_a_little(int64_t tries, struct place place);

// A place where handlers wait until the test lets them go.
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int arrived, left;
    bool open;
};
#define GATE                                                             \
    {                                                                    \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false \
    }

void gate_pass(struct gate *gate);               // in a handler
void gate_wait(struct gate *gate, int arrived);  // in the test: until so many have come
void gate_open(struct gate *gate);
void gate_wait_left(struct gate *gate, int left);

// A handler that counts, and fails as often as it is told before it goes well.
struct counts {
    _Atomic int prepared, committed, finished;
    int fail_first;
    enum pawl_class class;
};
bool greet(struct pawl_run *run, void *counts);
