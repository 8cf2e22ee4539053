// pawl import: lines are read one by one and stored in batches, one transaction or request each.
//
// A batch that is killed leaves nothing; one that was committed is known to the next run, because
// every line has a key. What is wrong is reported with its batch, in the order of the lines.
#include <stdio.h>
#include <sys/stat.h>

#include "cli/backend.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/progress.h"

enum { BATCH_JOBS = 500, BATCH_BYTES = 4 << 20 };

struct import {
    struct cli *cli;
    const char *name;     // of the file
    struct lines lines;
    int64_t bytes_total;  // 0: not known
    struct progress_bar bar;
    int64_t new, known, refused;
    // The batch:
    struct arena arena;
    struct batch batch;
    struct entry entries[BATCH_JOBS];
    int64_t numbers[BATCH_JOBS];  // of their lines
    size_t bytes;
};

static void print_refusal(struct import *import, int64_t line, const struct problem *problem)
{
    struct str where = str_format(&import->arena, "%s:%lld", import->name, (long long)line);
    progress_hide(&import->bar);
    print_problem(&import->arena, where, problem);
}

static void report_refused(struct import *import, size_t i)
{
    const struct entry *entry = &import->entries[i];
    struct problem refusal = { .message = str_of(entry->error.message) };
    for (size_t j = 0; j < entry->problem_count; j++)
        print_refusal(import, import->numbers[i], &entry->problems[j]);
    if (entry->error.code != PAWL_OK)
        print_refusal(import, import->numbers[i], &refusal);
    import->refused++;
}

// Says what was refused, and counts: what is open is stored only when the batch is.
static void report(struct import *import, bool stored)
{
    for (size_t i = 0; i < import->batch.count; i++) {
        const struct entry *entry = &import->entries[i];
        if (!entry_open(entry))
            report_refused(import, i);
        else if (stored)
            *(entry->known ? &import->known : &import->new) += 1;
    }
}

static int64_t first_open_line(const struct import *import)
{
    for (size_t i = 0; i < import->batch.count; i++)
        if (entry_open(&import->entries[i]))
            return import->numbers[i];
    return import->lines.number;
}

static void begin_batch(struct import *import)
{
    batch_end(&import->batch);
    arena_reset(&import->arena);
    import->bytes = 0;
    import->batch = (struct batch){
        .arena = &import->arena,
        .entries = import->entries,
        .recipe = KEY_DERIVED,
    };
}

static bool flush(struct import *import, struct pawl_error *err)
{
    struct cli *cli = import->cli;
    if (import->batch.count > 0 && !cli->backend->enqueue(cli, &import->batch, err)) {
        report(import, false);
        return fail(err, err->code, "%s:%lld: %s", import->name,
                    (long long)first_open_line(import), err->message);
    }
    report(import, true);
    begin_batch(import);
    progress_show(&import->bar, import->lines.consumed, import->bytes_total);
    return true;
}

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ' && text.s[i] != '\t' && text.s[i] != '\r')
            return false;
    return true;
}

// A line that is no JSON has its answer already, and is reported in its turn.
static void take_line(struct import *import, const struct line *line)
{
    struct entry *entry = &import->entries[import->batch.count];
    *entry = (struct entry){0};
    import->numbers[import->batch.count++] = import->lines.number;
    import->bytes += line->text.n;
    if (line->too_long)
        (void)!fail(&entry->error, PAWL_TOO_LARGE, "the line is longer than 8 MiB");
    else
        // What is wrong is in the entry.
        (void)!json_parse(line->text, LINE_BYTES_MAX, &entry->object, &entry->error);
}

static bool is_full(const struct import *import)
{
    return import->batch.count == BATCH_JOBS || import->bytes >= BATCH_BYTES;
}

static bool take_lines(struct import *import, struct pawl_error *err)
{
    for (;;) {
        struct line line;
        bool got = false;
        if (!lines_next(&import->lines, &line, &got, err)) {
            report(import, false);
            return false;
        }
        if (!got)
            return flush(import, err);
        if (line.too_long || !is_blank(line.text))
            take_line(import, &line);
        if (is_full(import) && !flush(import, err))
            return false;
    }
}

static json_t *summary_json(const struct import *import)
{
    return json_pack("{s:I, s:I, s:I}", "new", (json_int_t)import->new, "known",
                     (json_int_t)import->known, "refused", (json_int_t)import->refused);
}

static bool print_summary(struct import *import, struct pawl_error *err)
{
    struct cli *cli = import->cli;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, summary_json(import), err);
    printf("%lld new, %lld known, %lld refused\n", (long long)import->new,
           (long long)import->known, (long long)import->refused);
    return true;
}

static int64_t size_of_file(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : 0;
}

static void import_end(struct import **import)
{
    progress_hide(&(*import)->bar);
    batch_end(&(*import)->batch);
    lines_end(&(*import)->lines);
    arena_end(&(*import)->arena);
}

bool command_import(struct cli *cli, struct pawl_error *err)
{
    SCOPED(import) struct import *import = arena_new(&cli->arena, struct import, 1);
    if (!import)
        return fail(err, PAWL_NO_MEMORY, "no memory to import");
    import->cli = cli;
    import->name = str_cstr(&cli->arena, cli->words[0]);
    import->lines.fd = -1;
    begin_batch(import);
    import->bar = (struct progress_bar){ .world = cli->world, .what = "import" };
    if (!lines_open(&import->lines, import->name, err))
        return false;
    import->bytes_total = size_of_file(import->lines.fd);
    if (!take_lines(import, err))
        return false;
    progress_hide(&import->bar);
    cli->status = import->refused > 0 ? 1 : 0;
    return print_summary(import, err);
}
