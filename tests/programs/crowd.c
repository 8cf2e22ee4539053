// A program that enqueues from many threads and runs what it enqueues, until it is killed.
//
//     crowd STORE LOG NAME SEED [drain] [patient]
//
// Every call is logged before and after (actor.h), with one append each. A process that starts asks
// again for whatever its dead predecessor was not told; with `drain` for nothing else. With
// `patient` its store may be away for a while: it asks again until it is told. It ends when its
// input does.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <pawl.h>

#include "actor.h"

enum { THREADS = 50,
       THREADS_PATIENT = 12,  // of each of several programs
       KEY_BYTES = 48,
       ASKED_MAX = 20000 };

static struct crowd {
    struct actor actor;
    struct pawl *pawl;
    _Atomic int64_t calls, serial;
    _Atomic uint64_t dice;
    bool patient;
} crowd;

// ----- handlers

static uint64_t roll(void)
{
    struct actor dice = { .dice = atomic_fetch_add(&crowd.dice, 0x9e3779b97f4a7c15u) };
    return actor_dice(&dice);
}

static bool prepare(struct pawl_run *run, void *context)
{
    (void)context;
    if (roll() % 4 == 0 && !pawl_pause(run, MILLISECONDS(1 + roll() % 5)))
        return false;
    if (roll() % 20 == 0)
        return pawl_fail(run, PAWL_TRANSIENT, "not this time");
    return pawl_result(run, "1");
}

// The application's own table has no constraint: only Pawl keeps an effect from happening twice.
static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct pawl_error err;
    char sql[200];
    (void)context;
    snprintf(sql, sizeof sql, "INSERT INTO effects VALUES ('%s', %d, '%s', 0)", pawl_job_id(run),
             pawl_attempt(run), crowd.actor.name);
    if (!pawl_tx_execute(tx, sql, &err))
        return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    return roll() % 50 != 0;  // what it wrote is taken back then
}

static bool finish(struct pawl_run *run, void *context)
{
    (void)context;
    return roll() % 40 != 0 || pawl_fail(run, PAWL_TRANSIENT, "not this time");
}

// ----- enqueueing

static bool may_be_told(enum pawl_code code)
{
    return code == PAWL_FULL
        || (crowd.patient && (code == PAWL_BUSY || code == PAWL_IN_DOUBT));
}

// Everything follows from the key, so that a repeated request asks for the same job.
static bool ask_once(const char *key)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket = {0};
    uint64_t n = (uint64_t)strlen(key) + (uint64_t)key[strlen(key) - 1];
    char serial[16];
    snprintf(serial, sizeof serial, "serial-%d", (int)(n % 5));
    struct pawl_job job = {
        .job_type = n % 2 ? "test.odd" : "test.even",
        .idempotency_key = key,
        .serial_key = n % 4 ? NULL : serial,
        .priority = (int)(n % 3),
    };
    long long number = ++crowd.calls;
    actor_log(&crowd.actor, "> %lld enqueue %s .\n", number, key);
    bool done = pawl_enqueue(crowd.pawl, &job, &ticket, &err);
    if (!done && !may_be_told(err.code))
        actor_give_up(&crowd.actor, "an enqueue failed", &err);
    actor_log(&crowd.actor, "< %lld %s - %s 0 .\n", number, done ? "ok" : pawl_code_word(err.code),
              done ? ticket.job_id : "-");
    return done;
}

static void ask(const char *key)
{
    while (!ask_once(key) && crowd.patient)
        world_sleep(world_real(), MILLISECONDS(50));
}

static void *enqueue(void *context)
{
    char key[KEY_BYTES];
    (void)context;
    for (;;) {
        snprintf(key, sizeof key, "%s-%s-%lld", crowd.actor.name, crowd.actor.boot_id,
                 (long long)++crowd.serial);
        ask(key);
        world_sleep(world_real(), MILLISECONDS(5 + roll() % 100));
    }
    return NULL;
}

// ----- what the dead one was not told

struct question {
    int64_t number;
    char key[KEY_BYTES];
};

static void forget(struct question *open, size_t *count, int64_t number)
{
    for (size_t i = *count; i-- > 0;)
        if (open[i].number == number) {
            open[i] = open[--*count];
            return;
        }
}

// One that is asked again is still one question.
static void note(struct question *open, size_t *count, int64_t number, const char *key)
{
    size_t i = 0;
    while (i < *count && strcmp(open[i].key, key) != 0)
        i++;
    if (i == ASKED_MAX)
        return;
    open[i].number = number;
    snprintf(open[i].key, KEY_BYTES, "%.47s", key);
    if (i == *count)
        ++*count;
}

static size_t read_open(const char *path, struct question *open)
{
    size_t count = 0;
    char line[LINE_BYTES], key[80], end[2];
    FILE *log = fopen(path, "r");
    while (log && fgets(line, sizeof line, log)) {
        if (line[0] == '!')
            for (size_t i = 0; i < count; i++)
                open[i].number = 0;  // numbers begin again, and nobody answers these any more
        char *words = NULL;
        long long number = strtoll(line[0] ? line + 1 : line, &words, 10);
        if (line[0] == '>' && sscanf(words, " enqueue %79s %1[.]", key, end) == 2) {
            note(open, &count, number, key);
        } else if (line[0] == '<' && sscanf(words, " ok %*s %*s %*s %1[.]", end) == 1) {
            forget(open, &count, number);
        }
    }
    if (log)
        fclose(log);
    return count;
}

// ----- the program

static void must(bool done, const struct pawl_error *err)
{
    if (!done)
        actor_give_up(&crowd.actor, "the crowd cannot start", err);
}

static bool try_to_start(char **argv, struct pawl_error *err)
{
    struct pawl_tx *tx = NULL;
    struct pawl_options options = {
        .store = argv[1], .instance = argv[3], .workers = 8,
        .loan_us = SECONDS(30),  // a busy machine is not what this is about
    };
    struct pawl_policy policy = {
        .name = "test", .base = "lifecycle", .max_attempts = 20, .base_us = MILLISECONDS(10),
        .delay_us_max = MILLISECONDS(10), .lease_us = SECONDS(1),
    };
    struct pawl_handler odd = {
        .job_type = "test.odd",
        .prepare = prepare,
        .commit = commit,
        .policy = "test",
    };
    struct pawl_handler even = odd;
    even.job_type = "test.even";
    even.finish = finish;
    return pawl_open(&crowd.pawl, &options, err) && pawl_begin(crowd.pawl, &tx, err)
        && pawl_tx_execute(tx, EFFECTS_TABLE, err) && pawl_commit(tx, err)
        && pawl_define_policy(crowd.pawl, &policy, err) && pawl_handle(crowd.pawl, &odd, err)
        && pawl_handle(crowd.pawl, &even, err) && pawl_start(crowd.pawl, err);
}

// The server may be recovering from a crash just now.
static void start(char **argv)
{
    struct pawl_error err = {0};
    while (!try_to_start(argv, &err)) {
        must(may_be_told(err.code), &err);
        pawl_close(crowd.pawl);
        crowd.pawl = NULL;
        world_sleep(world_real(), MILLISECONDS(50));
    }
}

static void open_log(char **argv)
{
    int64_t seed = 0;
    crowd.actor = (struct actor){ .name = argv[3], .log = open(argv[2], LOG_MODE, 0644) };
    if (crowd.actor.log < 0 || !str_int(str_of(argv[4]), &seed))
        exit(2);
    crowd.dice = (uint64_t)seed;
    snprintf(crowd.actor.boot_id, sizeof crowd.actor.boot_id, "%llx",
             (unsigned long long)world_random(world_real()));
    actor_log(&crowd.actor, "\n! %s .\n", crowd.actor.name);  // after a line that was cut short
}

int main(int argc, char **argv)
{
    static struct question questions[ASKED_MAX];
    pthread_t thread;
    if (argc < 5)
        return 2;
    crowd.patient = has_word(argv, "patient");
    size_t count = read_open(argv[2], questions);
    open_log(argv);
    start(argv);
    for (size_t i = 0; i < count; i++)
        ask(questions[i].key);
    int threads = crowd.patient ? THREADS_PATIENT : THREADS;
    for (int i = 0; i < threads && !has_word(argv, "drain"); i++)
        must(pthread_create(&thread, NULL, enqueue, NULL) == 0,
             &(struct pawl_error){ .code = PAWL_NO_MEMORY });
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {}
    if (has_word(argv, "drain"))  // else its threads still use it
        pawl_close(crowd.pawl);
    return 0;
}
