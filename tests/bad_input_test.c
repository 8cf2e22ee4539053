// Every bad job object through the real program: each refused with its field named, nothing stored.
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bad_contracts.h"

static struct str box_file(struct box *box, const char *name)
{
    return str_format(test_arena(), "%s/%s", box->directory, name);
}

static void redirect(const char *path, int descriptor)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0)
        _exit(125);
}

// Runs `pawl import` and answers its exit status; what it complains about goes to a file.
static int import(struct box *box, const char *lines, const char *complaints)
{
    const char *program = getenv("PAWL");
    EXPECT(program != NULL);
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        redirect("/dev/null", STDOUT_FILENO);
        redirect(complaints, STDERR_FILENO);
        execl(program, program, "import", lines, "--store", box->url.s, (char *)NULL);
        _exit(126);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ' && text.s[i] != '\t' && text.s[i] != '\r')
            return false;
    return true;
}

// The complaint about this line: `path:12: field: …` or, where the text is no JSON, what it says.
static bool complained(const char *complaints, const char *path, size_t line,
                       const struct bad_contract *bad)
{
    struct str start = str_format(test_arena(), "%s:%zu: ", path, line);
    struct str named = str_format(test_arena(), "%s:%zu: %s", path, line,
                                  bad->field && bad->field[0] ? bad->field : "");
    return strstr(complaints, bad->field ? named.s : start.s) != NULL;
}

TEST_EACH_DB(OPS_1_no_bad_input_is_stored_and_each_is_refused_by_name)
{
    size_t count = 0, written = 0, silent = 0;
    const struct bad_contract *cases = bad_contracts(test_arena(), &count);
    const struct bad_contract **lines = arena_new(test_arena(), const struct bad_contract *, count);
    EXPECT(lines != NULL);
    struct str path = box_file(box, "bad.jsonl"), complaints_path = box_file(box, "complaints");
    FILE *file = fopen(path.s, "wb");
    EXPECT(file != NULL);
    for (size_t i = 0; i < count; i++) {
        // Without a key a line of an import gets one from its content: those cases are good here.
        if (is_blank(cases[i].text) || cases[i].key_required)
            continue;
        fwrite(cases[i].text.s, 1, cases[i].text.n, file);
        fputc('\n', file);
        lines[written++] = &cases[i];
    }
    fclose(file);
    EXPECT(written >= 300);
    EXPECT_INT(import(box, path.s, complaints_path.s), 1);
    const char *complaints = test_file_at(complaints_path.s).s;
    for (size_t i = 0; i < written; i++)
        if (!complained(complaints, path.s, i + 1, lines[i])) {
            print_error("line %zu, %.*s: no complaint\n", i + 1, STR(lines[i]->name));
            silent++;
        }
    print_message("%zu bad lines\n", written);
    EXPECT_INT(silent, 0);
    EXPECT(strstr(complaints, "hunter2") == NULL);  // what was in a payload is not repeated
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM idempotency_keys"), 0);
    unlink(path.s);
    unlink(complaints_path.s);
}

TEST_EACH_DB(OPS_1_a_good_line_between_bad_ones_is_stored)
{
    struct str path = box_file(box, "mixed.jsonl"), complaints = box_file(box, "complaints");
    FILE *file = fopen(path.s, "wb");
    EXPECT(file != NULL);
    struct str good = good_contract(test_arena(), S("\"priority\":7"));
    fprintf(file, "{\"job_type\":1}\n%.*s\nnonsense\n", STR(good));
    fclose(file);
    EXPECT_INT(import(box, path.s, complaints.s), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs WHERE priority = 7"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    unlink(path.s);
    unlink(complaints.s);
}
