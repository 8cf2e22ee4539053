// pawl bench: what bench/ measures, asked for and shown.
#include "bench/bench.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/place.h"
#include "cli/bench_http.h"
#include "cli/figure.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/value.h"
#include "model/json_field.h"
#include "store/store_url.h"

// ----- options

enum mode { MODE_EMBEDDED, MODE_HTTP, MODES };

static const struct {
    enum option option;
    long otherwise[MODES], min, max;
    size_t at;  // in struct bench_options
} numbers[] = {
    { OPTION_JOBS, { 100000, 50000 }, 1, 100000000, offsetof(struct bench_options, jobs) },
    { OPTION_PAYLOAD, { 200, 200 }, 20, 1 << 20, offsetof(struct bench_options, payload_bytes) },
    { OPTION_BATCH, { 1000, 100 }, 1, CLAIM_MAX, offsetof(struct bench_options, batch) },
    { OPTION_WORKERS, { 4, 4 }, 1, 1000, offsetof(struct bench_options, workers) },
    { OPTION_THREADS, { 50, 50 }, 1, 1000, offsetof(struct bench_options, threads) },
    { OPTION_QUEUED, { 0, 0 }, 0, 100000000, offsetof(struct bench_options, queued) },
    { OPTION_BLOCKED, { 0, 0 }, 0, 100000000, offsetof(struct bench_options, blocked) },
    { OPTION_ORGS, { 1, 1 }, 1, 100000, offsetof(struct bench_options, orgs) },
    { OPTION_TYPES, { 1, 1 }, 1, 64, offsetof(struct bench_options, types) },
};

static enum mode mode_of(const struct cli *cli)
{
    return cli->given[OPTION_MODE] && str_eq(cli->value[OPTION_MODE], S("http")) ? MODE_HTTP
                                                                                : MODE_EMBEDDED;
}

static bool read_numbers(const struct cli *cli, struct bench_options *options,
                         struct pawl_error *err)
{
    enum mode mode = mode_of(cli);
    for (size_t i = 0; i < countof(numbers); i++) {
        enum option option = numbers[i].option;
        int64_t n = cli->given[option] ? value_number(cli, option) : numbers[i].otherwise[mode];
        if (n < numbers[i].min || n > numbers[i].max)
            return usage(cli, err, "--%s must be %ld to %ld, not %lld", option_row(option)->name,
                         numbers[i].min, numbers[i].max, (long long)n);
        *(long *)((char *)options + numbers[i].at) = (long)n;
    }
    return true;
}

// What a server is not measured with.
static bool fits_mode(const struct cli *cli, struct pawl_error *err)
{
    static const enum option embedded_only[] = {
        OPTION_STORE, OPTION_FORCE, OPTION_WORKERS, OPTION_QUEUED,
        OPTION_BLOCKED, OPTION_ORGS, OPTION_TYPES,
    };
    for (size_t i = 0; mode_of(cli) == MODE_HTTP && i < countof(embedded_only); i++)
        if (cli->given[embedded_only[i]])
            return usage(cli, err, "--%s is for --mode embedded: a server is measured on a "
                                   "temporary store",
                         option_row(embedded_only[i])->name);
    return true;
}

// Temporary files lie beside the store, on the disk that is measured.
static const char *directory_of(struct cli *cli, const char *store)
{
    const char *temporary = getenv("TMPDIR");
    if (!store || url_names_server(str_of(store)))
        return temporary && *temporary ? temporary : ".";
    struct str path = str_of(store + S("sqlite:").n);
    while (path.n > 0 && path.s[path.n - 1] != '/')
        path.n--;
    return path.n > 0 ? str_cstr(&cli->arena, path) : ".";
}

static bool read_options(struct cli *cli, struct bench_options *options, struct pawl_error *err)
{
    if (!fits_mode(cli, err))
        return false;
    if (cli->given[OPTION_STORE]) {
        struct str store = cli->value[OPTION_STORE];
        if (!url_names_file(store) && !url_names_server(store))
            return usage(cli, err, "--store must be sqlite:FILE or postgres://…, not `%.*s`",
                         STR(url_shown(&cli->arena, store)));
        options->store = str_cstr(&cli->arena, store);
    }
    options->directory = directory_of(cli, options->store);
    return read_numbers(cli, options, err);
}

// ----- progress

static void progress(void *self, const char *part, long done, long total)
{
    struct progress_bar *bar = self;
    if (bar->what != part)
        progress_hide(bar);  // another part: shown at once
    bar->what = part;
    progress_show(bar, done, total);
}

// ----- JSON

static json_t *cost_json(const struct transition_cost *cost, enum transition transition)
{
    const struct json_field fields[] = {
        { "transition", json_string(transition_name(transition)) },
        { "group", json_integer(cost->group) },
        { "small_us", tenths_json(cost->small_us[transition]) },
        { "large_us", tenths_json(cost->large_us[transition]) },
    };
    return json_object_of(fields, countof(fields));
}

static json_t *costs_json(const struct bench *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < GROUPS && b->costs[i].group > 0; i++)
        for (unsigned t = 0; t < TRANSITIONS; t++)
            json_array_append_new(list, cost_json(&b->costs[i], (enum transition)t));
    return list;
}

static json_t *disk_row_json(const struct disk_row *row)
{
    const struct json_field fields[] = {
        { "name", json_stringn(row->name.s, row->name.n) },
        { "queued_bytes_per_job", tenths_json(row->queued) },
        { "finished_bytes_per_job", tenths_json(row->finished) },
    };
    return json_object_of(fields, countof(fields));
}

static json_t *disk_json(const struct bench *b)
{
    const struct disk_row *rows = b->disk.items;
    json_t *list = json_array();
    for (size_t i = 0; i < b->disk.count; i++)
        json_array_append_new(list, disk_row_json(&rows[i]));
    return list;
}

static json_t *figure_of(const struct bench *b, enum figure figure)
{
    return b->given[figure] ? figure_json(figure_row(figure)->kind, b->figures[figure])
                            : json_null();
}

static json_t *shown_store(const struct bench *b)
{
    struct str shown = b->options.store ? url_shown(b->arena, str_of(b->options.store))
                                        : S("temporary");
    return json_stringn(shown.s, shown.n);
}

static json_t *bench_json(const struct bench *b)
{
    const struct bench_options *o = &b->options;
    struct json_field fields[14 + FIGURES] = {
        { "store", shown_store(b) },
        { "mode", json_string("embedded") },
        { "jobs", json_integer(o->jobs) },
        { "payload_bytes", json_integer(o->payload_bytes) },
        { "batch", json_integer(o->batch) },
        { "workers", json_integer(o->workers) },
        { "threads", json_integer(o->threads) },
        { "queued", json_integer(o->queued) },
        { "blocked", json_integer(o->blocked) },
        { "orgs", json_integer(o->orgs) },
        { "types", json_integer(o->types) },
        { "base", json_text_or_null(str_of(b->base)) },
        { "transitions", costs_json(b) },
        { "disk", disk_json(b) },
    };
    struct json_field *figures = fields + countof(fields) - FIGURES;
    for (unsigned i = 0; i < FIGURES; i++)
        figures[i] = (struct json_field){ figure_row((enum figure)i)->name,
                                          figure_of(b, (enum figure)i) };
    return json_object_of(fields, countof(fields));
}

// ----- for people

static void print_figures(struct arena *arena, const struct bench *b)
{
    static const char *const headings[] = { "FIGURE", "", "WHAT IT IS" };
    struct table table = table_of(arena, headings, countof(headings));
    for (unsigned i = 0; i < FIGURES; i++) {
        const struct figure_row *row = figure_row((enum figure)i);
        if (!b->given[i])
            continue;
        table_add(&table, str_of(row->name));
        table_add(&table, figure_text(arena, row->kind, b->figures[i]));
        table_add(&table, str_of(row->text));
    }
    table_print(&table, "");
}

static void print_costs(struct arena *arena, const struct bench *b)
{
    static const char *const headings[] = { "TRANSITION", "JOBS IN ONE COMMIT", "200 B", "256 KiB",
                                            "RATIO" };
    struct table table = table_of(arena, headings, countof(headings));
    for (size_t i = 0; i < GROUPS; i++) {
        const struct transition_cost *cost = &b->costs[i];
        for (unsigned t = 0; t < TRANSITIONS; t++) {
            table_add(&table, str_of(transition_name((enum transition)t)));
            table_add_number(&table, cost->group);
            table_add(&table, str_format(arena, "%.1f us", cost->small_us[t]));
            table_add(&table, str_format(arena, "%.1f us", cost->large_us[t]));
            table_add(&table, str_format(arena, "%.2f", cost->large_us[t] / cost->small_us[t]));
        }
    }
    print_title("What a payload costs");
    table_print(&table, "");
}

static void print_disk(struct arena *arena, const struct bench *b)
{
    static const char *const headings[] = { "PART OF THE FILE", "QUEUED JOB", "FINISHED JOB" };
    const struct disk_row *rows = b->disk.items;
    struct table table = table_of(arena, headings, countof(headings));
    for (size_t i = 0; i < b->disk.count; i++) {
        table_add(&table, rows[i].name);
        table_add(&table, str_format(arena, "%.0f B", rows[i].queued));
        table_add(&table, str_format(arena, "%.0f B", rows[i].finished));
    }
    print_title("What a job takes on disk");
    table_print(&table, "");
}

static void print_report(struct arena *arena, const struct bench *b)
{
    printf("A full lifecycle costs what %.1f plain inserts cost: %.3f of the control.\n\n",
           1 / b->figures[FIGURE_LIFECYCLE_OVER_CONTROL],
           b->figures[FIGURE_LIFECYCLE_OVER_CONTROL]);
    print_figures(arena, b);
    if (b->base)
        printf("\nThe base is %s.\n", b->base);
    if (b->costs[0].group > 0) {  // not on a server
        print_costs(arena, b);
        print_disk(arena, b);
    }
    puts("\nCompare the ratios of runs with the same options: rates and times are this disk's.\n"
         "`pawl bench --help` says what is measured and how.");
}

// ----- the command

static bool run_embedded(struct cli *cli, const struct bench_options *options,
                         struct progress_bar *bar, struct pawl_error *err)
{
    struct bench bench = { .arena = &cli->arena, .options = *options };
    bool done = bench_run(&bench, cli->given[OPTION_FORCE], err);
    progress_hide(bar);
    if (!done)
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, bench_json(&bench), err);
    print_report(&cli->arena, &bench);
    return true;
}

static bool run_http(struct cli *cli, const struct bench_options *options,
                     struct progress_bar *bar, struct pawl_error *err)
{
    struct http_bench bench = { .arena = &cli->arena, .options = *options };
    bool done = http_bench_run(&bench, err);
    progress_hide(bar);
    if (!done)
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, http_bench_json(&bench), err);
    print_http_bench(&cli->arena, &bench);
    return true;
}

bool command_bench(struct cli *cli, struct pawl_error *err)
{
    struct progress_bar bar = { .world = cli->world };
    struct bench_options options = { .progress = progress, .self = &bar };
    if (!read_options(cli, &options, err))
        return false;
    if (place_in_memory(options.directory))
        fprintf(stderr, "pawl: %.*s is in memory, where a durable commit costs nothing: these are "
                        "not the figures of a disk\n",
                STR(safe(&cli->arena, str_of(options.directory))));
    return mode_of(cli) == MODE_HTTP ? run_http(cli, &options, &bar, err)
                                     : run_embedded(cli, &options, &bar, err);
}
