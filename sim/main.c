// sim: runs seeds, and says what a failing one did.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shrink.h"

struct arguments {
    struct sim_options run;
    uint64_t first, last;
    const char *list;   // a file with seeds
    int64_t seconds;    // begin no other seed after so long; 0: all of them
    bool marks, hash, twice, shrink, progress, every_bug;
};

static const char usage[] =
    "sim [--seed N | --seeds A..B | --list FILE] [--steps N] [--without NAME,...] [--bug NAME]\n"
    "    [--trace] [--hash] [--twice] [--marks] [--for SECONDS] [--progress] [--bugs]\n"
    "\n"
    "  --seed N       one run, repeated exactly\n"
    "  --seeds A..B   many, until one fails\n"
    "  --list FILE    those in the file, one a line: seeds that failed once\n"
    "  --steps N      calls of the engine before the calm (1000)\n"
    "  --without ...  switch off kinds of trouble; `--without list` names them\n"
    "  --bug NAME     plant a mistake, which is to be found; `--bug list` names them\n"
    "  --bugs         plant each in turn, and say after how many seeds it was found\n"
    "  --trace        print every event;  --hash: the hash of them\n"
    "  --twice        each seed twice: both must have the same hash\n"
    "  --marks        fail when a rare path was never taken\n"
    "  --for SECONDS  stop after so long\n";

// ----- what is asked

static bool number(const char *text, int64_t *value)
{
    return text && str_int(str_of(text), value) && *value >= 0;
}

static bool range(const char *text, struct arguments *a)
{
    struct str first, last;
    int64_t from, to;
    if (!text || !str_cut(str_of(text), '.', &first, &last) || last.n < 2
        || !str_int(first, &from) || !str_int((struct str){ last.s + 1, last.n - 1 }, &to))
        return false;
    a->first = (uint64_t)from;
    a->last = (uint64_t)to;
    return true;
}

static bool without(const char *text, uint64_t *bits)
{
    struct str rest = str_of(text), name;
    while (rest.n > 0) {
        enum fault_rate rate = 0;
        str_cut(rest, ',', &name, &rest);
        while (rate < RATES && !str_eq(name, str_of(rate_name(rate))))
            rate++;
        if (rate == RATES)
            return false;
        *bits |= (uint64_t)1 << rate;
    }
    return true;
}

static bool bug(const char *text, enum planted *which)
{
    for (*which = PLANTED_NONE; *which < PLANTED; (*which)++)
        if (text && strcmp(text, planted_name(*which)) == 0)
            return true;
    return false;
}

static void list_names(void)
{
    for (enum fault_rate rate = 0; rate < RATES; rate++)
        printf("%s%s", rate ? "," : "without: ", rate_name(rate));
    for (enum planted p = PLANTED_NONE + 1; p < PLANTED; p++)
        printf("%s%-28s %s", p == PLANTED_NONE + 1 ? "\nbugs:\n" : "\n", planted_name(p),
               planted_says(p));
    puts("");
}

static bool with_value(const char *word, const char *value, struct arguments *a, int64_t *n)
{
    if (strcmp(word, "--seed") == 0 && number(value, n)) {
        a->first = a->last = (uint64_t)*n;
        return true;
    }
    if (strcmp(word, "--steps") == 0 && number(value, n)) {
        a->run.steps = (size_t)*n;
        return true;
    }
    if (strcmp(word, "--list") == 0 && value) {
        a->list = value;
        return true;
    }
    return (strcmp(word, "--for") == 0 && number(value, &a->seconds))
        || (strcmp(word, "--seeds") == 0 && range(value, a))
        || (strcmp(word, "--without") == 0 && value && without(value, &a->run.without))
        || (strcmp(word, "--bug") == 0 && bug(value, &a->run.planted));
}

static bool read_arguments(int argc, char **argv, struct arguments *a)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        { "--trace", &a->run.trace }, { "--marks", &a->marks },       { "--hash", &a->hash },
        { "--twice", &a->twice },     { "--progress", &a->progress }, { "--bugs", &a->every_bug },
    };
    for (int i = 1; i < argc; i++) {
        bool known = false;
        int64_t n = 0;
        for (size_t k = 0; k < countof(flags); k++)
            if (strcmp(argv[i], flags[k].word) == 0)
                known = *flags[k].flag = true;
        if (!known && !with_value(argv[i], argv[i + 1], a, &n))
            return false;
        i += !known;
    }
    return true;
}

// ----- what is done

struct tally_of_runs {
    uint64_t seeds, steps, deaths, checks;
    time_t began;
};

static void add(struct tally_of_runs *t, const struct sim *sim)
{
    t->seeds++;
    t->steps += sim->steps;
    t->deaths += sim->deaths;
    t->checks += sim->checks;
}

static void print_command(const struct sim_options *o)
{
    printf("sim --seed %llu --steps %zu", (unsigned long long)o->seed, o->steps);
    const char *separator = " --without ";
    for (enum fault_rate rate = 0; rate < RATES; rate++)
        if (o->without & ((uint64_t)1 << rate)) {
            printf("%s%s", separator, rate_name(rate));
            separator = ",";
        }
    if (o->planted)
        printf(" --bug %s", planted_name(o->planted));
    puts("");
}

static void report(struct sim *sim, struct sim_options *options)
{
    printf("seed %llu, after %zu steps: %s\nshrinking ...\n", (unsigned long long)options->seed,
           sim->steps, sim->match.problem);
    fflush(stdout);
    shrink(sim, options);
    journal_print(&sim->journal);
    printf("%s\n", sim->match.problem);
    print_command(options);
}

static bool run_seed(struct sim *sim, const struct arguments *a, uint64_t seed,
                     struct tally_of_runs *t)
{
    struct sim_options options = a->run;
    options.seed = seed;
    bool fine = sim_run(sim, &options);
    uint64_t hash = sim->journal.hash;
    add(t, sim);
    if (!fine) {
        report(sim, &options);
        return false;
    }
    if (a->hash)
        printf("seed %llu: %zu steps, hash %016llx\n", (unsigned long long)seed, sim->steps,
               (unsigned long long)hash);
    if (a->twice && (!sim_run(sim, &options) || sim->journal.hash != hash)) {
        printf("seed %llu is not the same twice\n", (unsigned long long)seed);
        return false;
    }
    return true;
}

static bool time_is_over(const struct arguments *a, const struct tally_of_runs *t)
{
    return a->seconds && time(NULL) - t->began >= a->seconds;
}

static void show_progress(const struct arguments *a, const struct tally_of_runs *t)
{
    if (a->progress && isatty(STDERR_FILENO) && t->seeds % 16 == 0)
        fprintf(stderr, "\r%llu seeds, %llu steps ", (unsigned long long)t->seeds,
                (unsigned long long)t->steps);
}

static bool run_list(struct sim *sim, const struct arguments *a, struct tally_of_runs *t)
{
    FILE *file = fopen(a->list, "r");
    char line[128];
    bool fine = file != NULL;
    while (fine && fgets(line, sizeof line, file)) {
        int64_t seed = 0;
        struct str text, comment;
        line[strcspn(line, "\n")] = '\0';
        str_cut(str_of(line), ' ', &text, &comment);
        if (str_int(text, &seed))
            fine = run_seed(sim, a, (uint64_t)seed, t);
    }
    if (file)
        fclose(file);
    return fine;
}

static bool run_range(struct sim *sim, const struct arguments *a, struct tally_of_runs *t)
{
    for (uint64_t seed = a->first; seed <= a->last && !time_is_over(a, t); seed++) {
        if (!run_seed(sim, a, seed, t))
            return false;
        show_progress(a, t);
    }
    return true;
}

// Every mistake must be found.
static bool run_bugs(struct sim *sim, const struct arguments *a)
{
    size_t count = 0;
    for (enum planted p = PLANTED_NONE + 1; p < PLANTED; p++) {
        struct sim_options options = a->run;
        size_t steps = 0;
        bool found = false;
        options.planted = p;
        for (options.seed = a->first; !found && options.seed <= a->last; options.seed++) {
            found = !sim_run(sim, &options);
            steps += sim->steps;
        }
        printf("%-28s %s after %llu seeds, %zu steps: %s\n", planted_name(p),
               found ? "found" : "NOT FOUND", (unsigned long long)(options.seed - a->first), steps,
               found ? sim->match.problem : "");
        fflush(stdout);
        count += found;
    }
    printf("planted mistakes: %d tried, %zu found, %zu not found\n", PLANTED - 1, count,
           (size_t)PLANTED - 1 - count);
    return count == (size_t)PLANTED - 1;
}

static int run(struct sim *sim, const struct arguments *a)
{
    struct tally_of_runs t = { .began = time(NULL) };
    if (a->every_bug)
        return run_bugs(sim, a) ? 0 : 1;
    bool fine = a->list ? run_list(sim, a, &t) : run_range(sim, a, &t);
    size_t missing = marks_missing(a->marks);
    printf("sim: %llu seeds and %llu steps tried, %llu deaths survived, %llu checks of everything, "
           "%s found, %zu of %zu marks not reached\n",
           (unsigned long long)t.seeds, (unsigned long long)t.steps,
           (unsigned long long)t.deaths, (unsigned long long)t.checks,
           fine ? "nothing" : "one fault", missing, marks_count());
    return fine && !(a->marks && missing > 0) ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct arguments a = { .run = { .steps = 1000 }, .first = 1, .last = 1 };
    if (argc == 3 && strcmp(argv[2], "list") == 0) {
        list_names();
        return 0;
    }
    if (!read_arguments(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return 1;
    sim_prepare();
    int status = run(sim, &a);
    sim_end(sim);
    free(sim);
    return status;
}
