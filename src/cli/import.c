// pawl import: lines are read and judged one by one, and stored in batches, one transaction each.
//
// A batch that is killed leaves nothing; one that was committed is known to the next run, because
// every line has a key.
#include <stdio.h>
#include <sys/stat.h>

#include "cli/lines.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/session.h"

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
    struct contract contracts[BATCH_JOBS];
    int64_t numbers[BATCH_JOBS];  // of their lines
    struct answer answers[BATCH_JOBS];
    size_t count, bytes;
};

static void refuse(struct import *import, int64_t line, const struct problem *problem)
{
    struct str where = str_format(&import->arena, "%s:%lld", import->name, (long long)line);
    progress_hide(&import->bar);
    print_problem(&import->arena, where, problem);
}

static void refuse_whole(struct import *import, int64_t line, const char *message)
{
    refuse(import, line, &(struct problem){ .message = str_of(message) });
    import->refused++;
}

static void count_answer(struct import *import, size_t i)
{
    const struct answer *answer = &import->answers[i];
    if (answer->error.code != PAWL_OK)
        refuse_whole(import, import->numbers[i], answer->error.message);
    else
        *(answer->known ? &import->known : &import->new) += 1;
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
    if (!store_batch(import, err))
        return fail(err, err->code, "%s:%lld: %s", import->name, (long long)import->numbers[0],
                    err->message);
    for (size_t i = 0; i < import->count; i++)
        count_answer(import, i);
    import->count = import->bytes = 0;
    arena_reset(&import->arena);
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
    int64_t number = import->lines.number;
    if (!json_parse(text, LINE_BYTES_MAX, &object, &why)) {
        refuse_whole(import, number, why.message);
        return;
    }
    import->numbers[import->count] = number;
    if (request_read(import->cli, object, KEY_DERIVED, &import->contracts[import->count],
                     &problems)) {
        import->count++;
        import->bytes += text.n;
        return;
    }
    for (size_t i = 0; i < problems.count; i++)
        refuse(import, number, &problems.list[i]);
    import->refused++;
}

static bool take_lines(struct import *import, struct pawl_error *err)
{
    for (;;) {
        struct line line;
        bool got = false;
        if (!lines_next(&import->lines, &line, &got, err))
            return false;
        if (!got)
            return flush(import, err);
        if (line.too_long)
            refuse_whole(import, import->lines.number, "the line is longer than 8 MiB");
        else if (!is_blank(line.text))
            take_line(import, line.text);
        if ((import->count == BATCH_JOBS || import->bytes >= BATCH_BYTES) && !flush(import, err))
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
