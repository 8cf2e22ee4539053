// A shop that cannot lose an invoice, and the torture that tries to make it.
//
//     transactional                one order, and what becomes of it
//     transactional --torture N    N shops one after another, each killed with -9 in mid-work
//
// Works in a temporary directory. The exit status is 0 only when everything was as it must be.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shop.h"

enum { CYCLES_MAX = 100000, LIFE_MS_MAX = 120, SETTLE_TRIES = 600 };
#define countof(array) (sizeof(array) / sizeof((array)[0]))

// Where a shop lives, and the witness: a file outside the store in which the shops of the torture
// note what they were told.
struct place {
    char directory[256], store[300], mail[300], witness[300];
};

static bool complain(const char *what, const char *why)
{
    fprintf(stderr, "transactional: %s: %s\n", what, why);
    return false;
}

static bool so(bool good, const char *what)
{
    printf("%s  %s\n", good ? "ok " : "BAD", what);
    return good;
}

static void nap_ms(long milliseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000 }, NULL);
}

// ----- what must be true of a shop at rest

// Each counts the exceptions.
static const struct rule {
    const char *what, *exceptions;
} rules[] = {
    { "every order has its job",
      "SELECT count(*) FROM orders o LEFT JOIN pawl_jobs j ON j.job_id = o.job_id"
      " WHERE j.job_id IS NULL" },
    { "every job has its order",
      "SELECT count(*) FROM pawl_jobs j LEFT JOIN orders o ON o.job_id = j.job_id"
      " WHERE o.number IS NULL" },
    { "every job has ended", "SELECT count(*) FROM pawl_jobs WHERE phase <> 'ended'" },
    { "every job that succeeded wrote its invoice exactly once",
      "SELECT count(*) FROM pawl_jobs j JOIN orders o ON o.job_id = j.job_id"
      " WHERE j.state = 'SUCCEEDED'"
      " AND (SELECT count(*) FROM invoices i WHERE i.order_number = o.number) <> 1" },
    // Pawl gives up on a job during which the program died three times in a row.
    { "a job that was given up wrote none",
      "SELECT count(*) FROM pawl_jobs j JOIN orders o ON o.job_id = j.job_id"
      " JOIN invoices i ON i.order_number = o.number WHERE j.state <> 'SUCCEEDED'" },
};

static bool count(struct shop *shop, const char *sql, int64_t *answer)
{
    struct pawl_error err = {0};
    return shop_ask(shop, sql, answer, &err) || complain("cannot count", err.message);
}

static bool rules_hold(struct shop *shop)
{
    bool all = true;
    for (size_t i = 0; i < countof(rules); i++) {
        int64_t exceptions;
        all = count(shop, rules[i].exceptions, &exceptions) && so(exceptions == 0, rules[i].what)
            && all;
    }
    return all;
}

// A name that starts with a dot is a mail that was never finished.
static int64_t mails_in(const char *directory)
{
    int64_t mails = 0;
    DIR *open = opendir(directory);
    for (struct dirent *entry; open && (entry = readdir(open)) != NULL;)
        mails += entry->d_name[0] != '.';
    if (open)
        closedir(open);
    return mails;
}

static bool mails_are_right(struct shop *shop)
{
    int64_t succeeded;
    return count(shop, "SELECT count(*) FROM pawl_jobs WHERE state = 'SUCCEEDED'", &succeeded)
        && so(mails_in(shop->mail_directory) == succeeded,
              "every job that succeeded mailed its invoice, under one key");
}

// ----- one order

static bool refuses_a_bad_order(struct shop *shop)
{
    struct order order = { .customer = "Charles", .cents = 0 };
    struct pawl_error err = {0};
    int64_t orders, jobs;
    return so(!shop_place(shop, &order, &err), "an order the table refuses is not placed")
        && count(shop, "SELECT count(*) FROM orders", &orders)
        && count(shop, "SELECT count(*) FROM pawl_jobs", &jobs)
        && so(orders == 1 && jobs == 1, "and it leaves no order and no job behind");
}

static bool one_order(struct shop *shop)
{
    struct order order = { .customer = "Ada", .cents = 4200 };
    struct pawl_status status;
    struct pawl_error err = {0};
    if (!shop_place(shop, &order, &err) || !shop_start(shop, &err)
        || !pawl_wait(shop->pawl, order.job_id, 10000000, &status, &err))
        return complain("cannot place an order", err.message);
    printf("order %" PRId64 " of %s: job %s %s\n", order.number, order.customer, status.job_id,
           status.state);
    bool refused = refuses_a_bad_order(shop);
    bool held = rules_hold(shop);
    return mails_are_right(shop) && held && refused;
}

// ----- the torture

static int witness = -1;

// Inside the transaction, with the order written and the job not yet: the best moment to die.
static void halfway(void)
{
    if (write(witness, "halfway\n", 8) != 8)
        _exit(1);
    nap_ms(random() % 10);
}

// A shop that takes orders and sends invoices until it is killed. `ready` hears when it has begun.
static void sell_until_killed(const struct place *place, int ready)
{
    struct shop shop;
    struct pawl_error err = {0};
    if (!shop_open(&shop, place->store, place->mail, &err) || !shop_start(&shop, &err)
        || write(ready, "!", 1) != 1) {
        complain("a shop cannot open", err.message);
        return;
    }
    for (;;) {
        struct order order = { .customer = "Grace", .cents = 100, .halfway = halfway };
        char line[64];
        if (!shop_place(&shop, &order, &err)) {
            complain("an order was refused", err.message);
            return;
        }
        int length = snprintf(line, sizeof(line), "placed %" PRId64 "\n", order.number);
        if (write(witness, line, (size_t)length) != length)
            return;
    }
}

// Starts a shop, lets it live for a moment, kills it. False when it died by itself.
static bool kill_one(const struct place *place)
{
    int ready[2];
    char begun;
    if (pipe(ready) != 0)
        return complain("no pipe", strerror(errno));
    fflush(NULL);
    pid_t shop = fork();  // no store is open here: the child opens its own
    if (shop == 0) {
        close(ready[0]);
        sell_until_killed(place, ready[1]);
        _exit(1);
    }
    close(ready[1]);
    bool lives = shop > 0 && read(ready[0], &begun, 1) == 1;
    close(ready[0]);
    if (shop < 0)
        return complain("no process", strerror(errno));
    if (lives)
        nap_ms(1 + random() % LIFE_MS_MAX);
    int status = 0;
    kill(shop, SIGKILL);
    return waitpid(shop, &status, 0) == shop && WIFSIGNALED(status)
        && WTERMSIG(status) == SIGKILL && lives;
}

// Everything that waits is worked on, the retries after the crashes too.
static bool settle(struct shop *shop)
{
    struct pawl_error err = {0};
    int64_t left = 1;
    for (int i = 0; i < SETTLE_TRIES && left > 0; i++) {
        if (!pawl_run_until_idle(shop->pawl, &err))
            return complain("cannot work", err.message);
        if (!count(shop, "SELECT count(*) FROM pawl_jobs WHERE phase <> 'ended'", &left))
            return false;
        if (left > 0)
            nap_ms(100);
    }
    return true;
}

// Compares the shop with what the witness heard: whatever was answered is there.
static bool nothing_is_lost(struct shop *shop, const struct place *place)
{
    int64_t halves = 0, answers = 0, last = 0, orders, highest, given_up;
    char line[64];
    FILE *heard = fopen(place->witness, "re");
    while (heard && fgets(line, sizeof(line), heard)) {
        bool placed = strncmp(line, "placed ", 7) == 0;
        answers += placed;
        halves += !placed;
        if (placed)
            last = strtoll(line + 7, NULL, 10);
    }
    if (!heard || fclose(heard) != 0)
        return complain(place->witness, strerror(errno));
    if (!count(shop, "SELECT count(*) FROM orders", &orders)
        || !count(shop, "SELECT coalesce(max(number), 0) FROM orders", &highest)
        || !count(shop, "SELECT count(*) FROM pawl_jobs WHERE state <> 'SUCCEEDED'", &given_up))
        return false;
    printf("%" PRId64 " orders, %" PRId64 " of them answered; %" PRId64
           " shops died between an order and its answer; %" PRId64 " jobs were given up\n",
           orders, answers, halves - answers, given_up);
    // Numbers have no gaps, because an order that was taken back gave its number back.
    return so(orders >= answers && highest >= last && highest == orders,
              "every order that was answered is there")
        && so(halves > answers, "and some died in mid-order, so this shows something");
}

static bool kill_all(const struct place *place, long cycles)
{
    witness = open(place->witness, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (witness < 0)
        return complain(place->witness, strerror(errno));
    bool killed = true;
    for (long i = 0; i < cycles && killed; i++)
        killed = kill_one(place);
    close(witness);
    return so(killed, "every shop lived until it was killed");
}

static bool torture(struct shop *shop, const struct place *place, long cycles)
{
    struct pawl_error err = {0};
    shop_close(shop);  // a store must not be open across fork
    if (!kill_all(place, cycles))
        return false;
    if (!shop_open(shop, place->store, place->mail, &err) || !shop_start(shop, &err))
        return complain("cannot open the shop again", err.message);
    if (!settle(shop))
        return false;
    bool lost = !nothing_is_lost(shop, place);
    bool held = rules_hold(shop);
    return mails_are_right(shop) && held && !lost;
}

// ----- the program

static bool place_make(struct place *place)
{
    const char *base = getenv("TMPDIR");
    snprintf(place->directory, sizeof(place->directory), "%s/pawl-shop.XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(place->directory))
        return complain(place->directory, strerror(errno));
    snprintf(place->store, sizeof(place->store), "sqlite:%s/shop.db", place->directory);
    snprintf(place->mail, sizeof(place->mail), "%s/mail", place->directory);
    snprintf(place->witness, sizeof(place->witness), "%s/witness", place->directory);
    return mkdir(place->mail, 0700) == 0 || complain(place->mail, strerror(errno));
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat, (void)type, (void)where;
    return remove(path);
}

static bool run(long cycles)
{
    struct shop shop;
    struct place place = {0};
    struct pawl_error err = {0};
    if (!place_make(&place))
        return false;
    bool good = shop_open(&shop, place.store, place.mail, &err)
        || complain("cannot open the shop", err.message);
    good = good && (cycles > 0 ? torture(&shop, &place, cycles) : one_order(&shop));
    shop_close(&shop);
    if (good)
        nftw(place.directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    else
        fprintf(stderr, "transactional: look at %s\n", place.directory);
    return good;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    long cycles = argc == 3 ? strtol(argv[2], &end, 10) : 0;
    if (argc == 1)
        return run(0) ? 0 : 1;
    if (argc == 3 && strcmp(argv[1], "--torture") == 0 && *end == '\0' && cycles > 0
        && cycles <= CYCLES_MAX)
        return run(cycles) ? 0 : 1;
    fputs("usage: transactional [--torture N]\n", stderr);
    return 2;
}
