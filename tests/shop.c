// The store lies in memory where there is such a place: what dies here is no process.
#include "shop.h"

#include <time.h>
#include <unistd.h>

static void write_line(void *context, const struct pawl_log_line *line)
{
    struct shop *shop = context;
    pthread_mutex_lock(&shop->mutex);
    size_t n = strlen(shop->log);
    snprintf(shop->log + n, sizeof shop->log - n, "%s %s %d %s\n", line->event, line->job_type,
             line->attempt, line->message);
    pthread_mutex_unlock(&shop->mutex);
}

void shop_enter(struct shop *shop)
{
    struct pawl_error err = {0};
    db_close(shop->box.db);
    shop->box.db = NULL;
    MUST(pawl_open(&shop->pawl, &shop->options, &err));
}

void shop_open(struct shop *shop)
{
    box_open(&shop->box);
    pthread_mutex_init(&shop->mutex, NULL);
    snprintf(shop->url, sizeof shop->url, "%.*s", STR(shop->box.url));
    shop->options.store = shop->url;
    shop->options.log = write_line;
    shop->options.log_context = shop;
    if (!shop->options.workers)
        shop->options.workers = 4;
    shop_enter(shop);
}

void shop_leave(struct shop *shop)
{
    pawl_close(shop->pawl);
    shop->pawl = NULL;
    box_reopen(&shop->box);
}

void shop_close(struct shop *shop)
{
    shop_leave(shop);
    box_close(&shop->box);
    pthread_mutex_destroy(&shop->mutex);
}

// ----- short forms

void shop_handle(struct shop *shop, struct pawl_handler handler)
{
    struct pawl_error err = {0};
    MUST(pawl_handle(shop->pawl, &handler, &err));
}

void shop_policy(struct shop *shop, struct pawl_policy policy)
{
    struct pawl_error err = {0};
    MUST(pawl_define_policy(shop->pawl, &policy, &err));
}

void shop_start(struct shop *shop)
{
    struct pawl_error err = {0};
    MUST(pawl_start(shop->pawl, &err));
}

struct pawl_ticket shop_enqueue(struct shop *shop, struct pawl_job job)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    MUST(pawl_enqueue(shop->pawl, &job, &ticket, &err));
    return ticket;
}

struct pawl_status shop_status(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    MUST(pawl_get(shop->pawl, ticket->job_id, &status, &err));
    return status;
}

void shop_work(struct shop *shop)
{
    struct pawl_error err = {0};
    MUST(pawl_run_until_idle(shop->pawl, &err));
}

void shop_pass(struct shop *shop, int64_t microseconds)
{
    struct pawl_error err = {0};
    MUST(pawl_advance(shop->pawl, microseconds, &err));
}

struct pawl_status shop_wait(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    MUST(pawl_wait(shop->pawl, ticket->job_id, SECONDS(60), &status, &err));
    EXPECT(status.ended);
    return status;
}

const char *shop_json(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    char *json = NULL;
    MUST(pawl_get_json(shop->pawl, ticket->job_id, &json, &err));
    const char *kept = str_cstr(test_arena(), str_dup(test_arena(), str_of(json)));
    pawl_free(json);
    return kept;
}

void shop_sql(struct shop *shop, const char *sql)
{
    struct pawl_error err = {0};
    struct pawl_tx *tx = NULL;
    MUST(pawl_begin(shop->pawl, &tx, &err));
    MUST(pawl_tx_execute(tx, sql, &err));
    MUST(lent_commit(tx, &err));
}

int64_t shop_number(struct shop *shop, const char *sql)
{
    return box_number(&shop->box, sql);
}

void expect_state(struct shop *shop, const struct pawl_ticket *ticket, const char *state,
                  struct place place)
{
    expect_str(str_of(shop_status(shop, ticket).state), str_of(state), place);
}

// ----- the log

size_t shop_lines(struct shop *shop, const char *words)
{
    size_t count = 0;
    pthread_mutex_lock(&shop->mutex);
    for (const char *at = shop->log; (at = strstr(at, words)); at++)
        count++;
    pthread_mutex_unlock(&shop->mutex);
    return count;
}

bool shop_said_before(struct shop *shop, const char *first, const char *second)
{
    pthread_mutex_lock(&shop->mutex);
    const char *a = strstr(shop->log, first), *b = strstr(shop->log, second);
    pthread_mutex_unlock(&shop->mutex);
    return a && b && a < b;
}

// ----- waiting

enum { PAUSE_US = 1000,
       TRIES_MAX = 60000 };

void wait_a_little(int64_t tries, struct place place)
{
    if (tries > TRIES_MAX)
        expect_failed(place);
    nanosleep(&(struct timespec){ .tv_nsec = PAUSE_US * 1000L }, NULL);
}

void gate_pass(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->arrived++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    gate->left++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

// With the gate's mutex held. Nothing here waits for ever.
static void wait_for_change(struct gate *gate, struct place place)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PAUSE_US * TRIES_MAX / 1000000;
    if (pthread_cond_timedwait(&gate->changed, &gate->mutex, &end) == 0)
        return;
    pthread_mutex_unlock(&gate->mutex);
    expect_failed(place);
}

void gate_wait(struct gate *gate, int arrived)
{
    pthread_mutex_lock(&gate->mutex);
    while (gate->arrived < arrived)
        wait_for_change(gate, PLACE("a handler comes to the gate"));
    pthread_mutex_unlock(&gate->mutex);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

void gate_wait_left(struct gate *gate, int left)
{
    pthread_mutex_lock(&gate->mutex);
    while (gate->left < left)
        wait_for_change(gate, PLACE("a handler leaves the gate"));
    pthread_mutex_unlock(&gate->mutex);
}

// ----- handlers

bool greet(struct pawl_run *run, void *context)
{
    struct counts *counts = context;
    if (atomic_fetch_add(&counts->prepared, 1) < counts->fail_first)
        return pawl_fail(run, counts->class, "try %d of %s", pawl_attempt(run), pawl_job_id(run));
    return pawl_result(run, "{\"greeting\":\"hello\"}");
}
