// The worker of the Daily Brief: reads feeds, groups articles by event, purges what is old. It is
// the one process that schedules; brief-web only reads.
//
//     brief-worker [--store URL] [--feeds LIST] [--keep-days N] [--timeout SECONDS]
//                  [--once] [--as-of TIME]
//
// --once runs each job once, prints the brief and ends. --as-of takes it to be another time than
// the clock's, for feeds of another day; it needs --once.
//
// Exit status: 0 done, 1 it failed, 2 bad usage.
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brief.h"
#include "dates.h"
#include "edition.h"
#include "print.h"
#include "schedules.h"
#include "sql.h"
#include "tables.h"

enum { KEEP_DAYS = 30, TIMEOUT_S = 20, COMMIT_S = 10, STOP_S = 10 };

struct arguments {
    const char *store, *feeds;
    int64_t as_of;
    long keep_days, timeout_s;
    bool once, help;
};

static bool complain(const char *what, const char *why)
{
    fprintf(stderr, "brief-worker: %s: %s\n", what, why);
    return false;
}

static bool print_brief(const struct brief *brief, struct pawl_error *err)
{
    sqlite3 *db = sql_open_reader(brief->store, err);
    json_t *edition = db ? edition_load(db, NULL, brief_now(brief), err) : NULL;
    sqlite3_close(db);
    if (!edition)
        return false;
    print_edition(stdout, edition);
    json_decref(edition);
    return true;
}

// Blocked before the library starts its threads, so that they are waited for here and nowhere else.
static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

// A list of feeds is given once and kept in the store: a new one has none.
static void hint_at_feeds(const char *store)
{
    struct pawl_error err = {0};
    sqlite3 *db = sql_open_reader(store, &err);
    sqlite3_stmt *rows = db ? sql_ask(db, "SELECT 1 FROM feeds", WITH_NOTHING, &err) : NULL;
    if (rows && !sql_next(rows))
        fputs("There are no feeds yet: start it once with --feeds LIST.\n", stderr);
    if (rows)
        (void)sql_end(rows, &err);
    sqlite3_close(db);
}

static void until_told(const sigset_t *signals)
{
    int signal;
    fprintf(stderr, "The worker is ready. Ctrl-C ends it.\n");
    while (sigwait(signals, &signal) != 0)
        continue;
}

static bool open_all(struct brief *brief, const struct arguments *arguments, struct pawl_error *err)
{
    // The name stays the same: a worker that starts knows at once what the one before it has left.
    struct pawl_options options = {
        .store = arguments->store, .instance = "brief-worker", .actor_id = "brief-worker",
        .workers = 3, .prefetch = -1, .commit_us = (int64_t)COMMIT_S * 1000000,
        .log = diary_log, .log_context = &brief->diary,
    };
    return pawl_open(&brief->pawl, &options, err) && tables_make(brief->pawl, err)
        && (!arguments->feeds || tables_set_feeds(brief->pawl, arguments->feeds, err))
        && ingest_register(brief, err) && cluster_register(brief, err)
        && retain_register(brief, err)
        && (arguments->once || schedules_define(brief, err)) && pawl_start(brief->pawl, err);
}

static bool work(const struct arguments *arguments, const sigset_t *signals)
{
    struct pawl_error err = {0};
    struct brief brief = {
        .store = arguments->store, .as_of = arguments->as_of,
        .keep_s = arguments->keep_days * (int64_t)DAY_SECONDS,
        .fetch_timeout_ms = arguments->timeout_s * 1000,
    };
    diary_open(&brief.diary);
    bool good = open_all(&brief, arguments, &err);
    if (good && arguments->once)
        good = schedules_run_all(&brief, &err) && print_brief(&brief, &err);
    else if (good) {
        hint_at_feeds(arguments->store);
        until_told(signals);
    }
    if (brief.pawl)
        pawl_stop(brief.pawl, (int64_t)STOP_S * 1000000);
    pawl_close(brief.pawl);
    diary_close(&brief.diary);
    return good || complain("cannot go on", err.message);
}

static bool number(const char *text, long max, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && !*end && *value >= 1 && *value <= max;
}

static bool parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        { "store", required_argument, NULL, 's' }, { "feeds", required_argument, NULL, 'f' },
        { "keep-days", required_argument, NULL, 'k' }, { "timeout", required_argument, NULL, 't' },
        { "as-of", required_argument, NULL, 'a' }, { "once", no_argument, NULL, 'o' },
        { "help", no_argument, NULL, 'h' }, {0},
    };
    *a = (struct arguments){
        .store = "sqlite:brief.db",
        .keep_days = KEEP_DAYS,
        .timeout_s = TIMEOUT_S,
    };
    bool good = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 's': a->store = optarg; break;
        case 'f': a->feeds = optarg; break;
        case 'k': good = number(optarg, 3650, &a->keep_days) && good; break;
        case 't': good = number(optarg, 300, &a->timeout_s) && good; break;
        case 'a': good = date_parse(optarg, &a->as_of) && good; break;
        case 'o': a->once = true; break;
        case 'h': a->help = true; break;
        default: good = false;
        }
    return good && optind == argc && (a->once || !a->as_of);
}

static const char help[] =
    "usage: brief-worker [--store URL] [--feeds LIST] [--keep-days N] [--timeout SECONDS]\n"
    "                    [--once [--as-of TIME]]\n"
    "\n"
    "Reads feeds, groups articles by event and tidies up, by the clock, until it is interrupted.\n"
    "  --store URL        where; sqlite:brief.db\n"
    "  --feeds LIST       a file with a line `name | address` for each feed; the store keeps it\n"
    "  --keep-days N      how long articles are kept; 30\n"
    "  --timeout SECONDS  for each feed; 20\n"
    "  --once             each job once, then the brief, and the end\n"
    "  --as-of TIME       as if it were then: 2026-03-14T18:00:00Z\n"
    "\n"
    "  brief-worker --once --feeds feeds.txt --as-of 2026-03-14T18:00:00Z\n";

int main(int argc, char **argv)
{
    struct arguments arguments;
    sigset_t signals = {0};
    bool understood = parse(&arguments, argc, argv);
    if (!understood || arguments.help) {
        fputs(help, understood ? stdout : stderr);
        return understood ? 0 : 2;
    }
    if (!arguments.once)  // that one may be interrupted anywhere, like any program
        block_signals(&signals);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        complain("libcurl", "cannot be used");
        return 1;
    }
    bool good = work(&arguments, &signals);
    curl_global_cleanup();
    return good ? 0 : 1;
}
