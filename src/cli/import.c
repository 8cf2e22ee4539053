// pawl import: lines are read and judged one by one, and stored in batches, one transaction each.
//
// A batch that is killed leaves nothing; one that was committed is known to the next run, because
// every line has a key. What is wrong is reported with its batch, in the order of the lines.
#include <stdio.h>
#include <sys/stat.h>

#include "cli/lines.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"

enum { BATCH_JOBS = 500, BATCH_BYTES = 4 << 20 };

// One thing that is wrong with a line.
struct refusal {
    int64_t line;
    struct problem problem;
};

struct import {
    struct cli *cli;
    const char *name;     // of the file
    struct lines lines;
    int64_t bytes_total;  // 0: not known
    struct progress_bar bar;
    int64_t new, known, refused;
    // The batch:
    struct arena arena;
    struct contract contracts[BATCH_JOBS];
    int64_t numbers[BATCH_JOBS];  // of their lines
    struct answer answers[BATCH_JOBS];
    size_t count, bytes;
    struct list refusals;  // of lines that never got into the batch
};

static void refuse(struct import *import, struct problem problem)
{
    struct refusal *refusal = list_add(&import->refusals);
    if (refusal)
        *refusal = (struct refusal){ import->lines.number, problem };
    import->cli->arena.failed |= !refusal;
}

static void refuse_whole(struct import *import, const char *message)
{
    refuse(import, (struct problem){ .message = str_dup(&import->arena, str_of(message)) });
    import->refused++;
}

static void print_refusal(struct import *import, int64_t line, const struct problem *problem)
{
    struct str where = str_format(&import->arena, "%s:%lld", import->name, (long long)line);
    progress_hide(&import->bar);
    print_problem(&import->arena, where, problem);
}

// Prints the refusals before a line, from number `from` on. Answers the number of the next one.
static size_t print_refusals(struct import *import, size_t from, int64_t before)
{
    const struct refusal *refusals = import->refusals.items;
    size_t i = from;
    for (; i < import->refusals.count && refusals[i].line < before; i++)
        print_refusal(import, refusals[i].line, &refusals[i].problem);
    return i;
}

static void count_answer(struct import *import, size_t i)
{
    const struct answer *answer = &import->answers[i];
    if (answer->error.code == PAWL_OK) {
        *(answer->known ? &import->known : &import->new) += 1;
        return;
    }
    struct problem problem = { .message = str_of(answer->error.message) };
    print_refusal(import, import->numbers[i], &problem);
    import->refused++;
}

// Counts the first answers, and says what was refused.
static void report(struct import *import, size_t answered)
{
    size_t next = 0;
    for (size_t i = 0; i < answered; i++) {
        next = print_refusals(import, next, import->numbers[i]);
        count_answer(import, i);
    }
    print_refusals(import, next, INT64_MAX);
}

// The store is opened when there is something to put into it.
static bool store_batch(struct import *import, struct pawl_error *err)
{
    struct cli *cli = import->cli;
    if (import->count == 0)
        return true;
    return (cli->db || session_open(cli, STORE_CREATE, err))
        && requests_store(cli, import->contracts, import->count, &import->arena, import->answers,
                          err);
}

static bool flush(struct import *import, struct pawl_error *err)
{
    if (!store_batch(import, err)) {
        report(import, 0);
        return fail(err, err->code, "%s:%lld: %s", import->name, (long long)import->numbers[0],
                    err->message);
    }
    report(import, import->count);
    import->count = import->bytes = 0;
    arena_reset(&import->arena);
    import->refusals = list_of(&import->arena, sizeof(struct refusal));
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

static void take_line(struct import *import, struct str text)
{
    struct pawl_error why;
    struct problems problems = { .arena = &import->arena };
    SCOPED(json) json_t *object = NULL;
    if (!json_parse(text, LINE_BYTES_MAX, &object, &why)) {
        refuse_whole(import, why.message);
        return;
    }
    import->numbers[import->count] = import->lines.number;
    if (request_read(import->cli, object, KEY_DERIVED, &import->contracts[import->count],
                     &problems)) {
        import->count++;
        import->bytes += text.n;
        return;
    }
    for (size_t i = 0; i < problems.count; i++)
        refuse(import, problems.list[i]);
    import->refused++;
}

static bool is_full(const struct import *import)
{
    return import->count == BATCH_JOBS || import->bytes >= BATCH_BYTES
        || import->refusals.count >= BATCH_JOBS;
}

static bool take_lines(struct import *import, struct pawl_error *err)
{
    for (;;) {
        struct line line;
        bool got = false;
        if (!lines_next(&import->lines, &line, &got, err)) {
            report(import, 0);
            return false;
        }
        if (!got)
            return flush(import, err);
        if (line.too_long)
            refuse_whole(import, "the line is longer than 8 MiB");
        else if (!is_blank(line.text))
            take_line(import, line.text);
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
    import->refusals = list_of(&import->arena, sizeof(struct refusal));
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
