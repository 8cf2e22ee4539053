// Processes text files in the background, several at once, and shows how far each of them is.
//
//     documents [--fast] [--store URL] [--policy NAME] [--flaky DOCUMENT] FILE_OR_DIRECTORY...
//
// Each file becomes a run of four steps: read, split, index, summarise. Runs of one document, as of
// harbour.1.txt and harbour.2.txt, never overlap. Started again, on the same store, it goes on with
// what is unfinished and gives a new run to each file whose run died with the process.
//
// Exit status: 0 every run has ended, 1 it failed or was interrupted, 2 bad usage.
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalogue.h"
#include "process.h"
#include "screen.h"

enum { FILES_MAX = 64, PACE_US = 40000, FRAME_US = 100000 };

struct program {
    const char *store, *policy;
    struct processing processing;
    struct file files[FILES_MAX];
    struct bar bars[FILES_MAX];
    size_t count;
    struct screen screen;
    struct pawl *pawl;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool complain(const char *what, const char *why)
{
    fprintf(stderr, "documents: %s: %s\n", what, why);
    return false;
}

// ----- which files

// A job outlives the directory the program was started in: its path is absolute.
static bool add_file(struct program *p, const char *path)
{
    if (p->count == FILES_MAX)
        return complain(path, "too many files at once");
    char *absolute = realpath(path, NULL);
    if (!absolute)
        return complain(path, strerror(errno));
    bool named = file_named(&p->files[p->count], absolute);
    free(absolute);
    if (!named)
        return complain(path, "the name is too long");
    p->bars[p->count].name = p->files[p->count].name;
    p->count++;
    return true;
}

static int is_text(const struct dirent *entry)
{
    const char *type = strrchr(entry->d_name, '.');
    return type && strcmp(type, ".txt") == 0;
}

static bool add_directory(struct program *p, const char *directory)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_text, alphasort);
    bool good = count >= 0 || complain(directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        good = good && add_file(p, path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool add_path(struct program *p, const char *path)
{
    struct stat stat_;
    if (stat(path, &stat_) != 0)
        return complain(path, strerror(errno));
    return S_ISDIR(stat_.st_mode) ? add_directory(p, path) : add_file(p, path);
}

// ----- the work

static bool look(struct program *p, size_t i, struct pawl_error *err)
{
    struct pawl_status *status = &p->bars[i].status;
    return status->ended || pawl_get(p->pawl, p->files[i].job_id, status, err);
}

static bool submit_all(struct program *p, struct pawl_error *err)
{
    size_t known = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (!catalogue_submit(p->pawl, &p->files[i], p->policy, err))
            return false;
        known += p->files[i].known;
    }
    printf("   %zu files, %zu of them handed in before\n", p->count, known);
    return true;
}

// A run that died with its process is over (`document`: on_crash fail). Its file gets a new one.
static bool submit_again(struct program *p, struct pawl_error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        struct pawl_status *status = &p->bars[i].status;
        if (!look(p, i, err))
            return false;
        if (strcmp(status->failure_type, "PROCESS_TERMINATED") != 0)
            continue;
        printf("   %s: run %s is %s/%s: a new run\n", p->files[i].name, p->files[i].job_id,
               status->state, status->failure_type);
        *status = (struct pawl_status){0};  // the new run's, from here on
        if (!catalogue_submit_again(p->pawl, &p->files[i], p->policy, err))
            return false;
    }
    return true;
}

// The first run that has not ended; `count` when all have.
static size_t first_open(const struct program *p)
{
    size_t i = 0;
    while (i < p->count && p->bars[i].status.ended)
        i++;
    return i;
}

static bool watch(struct program *p, struct pawl_error *err)
{
    for (;;) {
        for (size_t i = 0; i < p->count; i++)
            if (!look(p, i, err))
                return false;
        screen_draw(&p->screen);
        size_t open = first_open(p);
        if (open == p->count || interrupted)
            return true;
        struct pawl_status status;  // the wait is what paces the pictures
        if (!pawl_wait(p->pawl, p->files[open].job_id, FRAME_US, &status, err))
            return false;
    }
}

// ----- the report

static void report_one(const struct program *p, const struct pawl_status *status, const char *json)
{
    char top[128] = "";
    json_t *job = json_loads(json, 0, NULL);
    json_t *result = json_object_get(job, "result"), *word;
    size_t i, used = 0;
    json_array_foreach (json_object_get(result, "top"), i, word)
        if (used < sizeof(top))
            used += (size_t)snprintf(top + used, sizeof(top) - used, "%s%s", i ? ", " : "",
                                     json_string_value(word));
    printf("%-10s %3d %6" JSON_INTEGER_FORMAT "  %s\n", status->state, status->attempt,
           json_integer_value(json_object_get(result, "words")), top);
    const char *sentence =
        json_string_value(json_array_get(json_object_get(result, "summary"), 0));
    screen_say(&p->screen, 18, sentence ? sentence : status->error);
    json_decref(job);
}

static bool report(struct program *p, struct pawl_error *err)
{
    struct totals totals;
    printf("\n   %-14s %-10s %s %6s  %s\n", "FILE", "STATE", "TRY", "WORDS", "ABOUT");
    for (size_t i = 0; i < p->count; i++) {
        char *json;
        if (!pawl_get_json(p->pawl, p->files[i].job_id, &json, err))
            return false;
        printf("   %-14s ", p->files[i].name);
        report_one(p, &p->bars[i].status, json);
        pawl_free(json);
    }
    if (!catalogue_totals(p->pawl, &totals, err))
        return false;
    struct pawl_figures figures = pawl_figures(p->pawl);
    printf("\n   %" PRId64 " documents with %" PRId64 " words, %" PRId64
           " of them different, are in the application's tables.\n"
           "   Steps tried again: %" PRId64 ". Runs a dead process had left: %" PRId64 ".\n",
           totals.documents, totals.words, totals.distinct, figures.steps_retried,
           figures.recovered);
    return true;
}

// ----- the program

static bool work(struct program *p, struct pawl_error *err)
{
    // The instance's name stays the same, so that a program that starts knows which runs the one
    // before it has left.
    struct pawl_options options = {
        .store = p->store, .instance = "documents", .log = screen_log, .log_context = &p->screen,
    };
    if (!pawl_open(&p->pawl, &options, err) || !catalogue_open(p->pawl, err)
        || !processing_register(p->pawl, &p->processing, err) || !submit_all(p, err)
        || !pawl_start(p->pawl, err) || !submit_again(p, err) || !watch(p, err))
        return false;
    if (!interrupted)
        return report(p, err);
    pawl_stop(p->pawl, 0);
    printf("   Interrupted. Start it again, and it goes on.\n");
    return true;
}

static bool parse(struct program *p, int argc, char **argv)
{
    static const struct option options[] = {
        { "fast", no_argument, NULL, 'f' },
        { "store", required_argument, NULL, 's' },
        { "policy", required_argument, NULL, 'p' },
        { "flaky", required_argument, NULL, 'l' },
        {0},
    };
    p->store = "sqlite:documents.db";
    p->processing.pace_us = PACE_US;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 'f': p->processing.pace_us = 0; break;
        case 's': p->store = optarg; break;
        case 'p': p->policy = optarg; break;
        case 'l': p->processing.flaky = optarg; break;
        default: return false;
        }
    return optind < argc;
}

int main(int argc, char **argv)
{
    static struct program p;  // too large for the stack
    struct pawl_error err = {0};
    if (!parse(&p, argc, argv)) {
        fputs("usage: documents [--fast] [--store URL] [--policy NAME] [--flaky DOCUMENT]"
              " FILE_OR_DIRECTORY...\n",
              stderr);
        return 2;
    }
    for (int i = optind; i < argc; i++)
        if (!add_path(&p, argv[i]))
            return 1;
    if (sigaction(SIGINT, &(struct sigaction){ .sa_handler = interrupt }, NULL) != 0
        || sigaction(SIGTERM, &(struct sigaction){ .sa_handler = interrupt }, NULL) != 0) {
        complain("signals", strerror(errno));
        return 1;
    }
    screen_open(&p.screen, p.bars, p.count);
    bool good = work(&p, &err) || complain("cannot go on", err.message);
    pawl_close(p.pawl);
    screen_close(&p.screen);
    return good && !interrupted ? 0 : 1;
}
