// Runs the tests that registered themselves before main began. Each is a cmocka test, so a failed
// expectation jumps out of the body: a body that comes to its end has passed, and is counted there.

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct test *first, **end;
    size_t passed;
    int64_t begun;
    struct sqlite_only *sqlite_only;
    struct arena arena;
} frame;

// Tests provoke a lack of memory; the sanitizers must answer NULL then, as malloc does.
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

// A test may fork a program that it kills, and that has threads of its own.
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1:die_after_fork=0";
}

void test_register(struct test *test)
{
    if (!frame.end)
        frame.end = &frame.first;
    *frame.end = test;
    frame.end = &test->next;
}

void test_sqlite_only(struct sqlite_only *only)
{
    only->next = frame.sqlite_only;
    frame.sqlite_only = only;
}

static bool left_out(const struct test *test)
{
    const char *store = getenv("PAWL_TEST_STORE");
    if (!store || strcmp(store, "postgres") != 0)
        return false;
    for (const struct sqlite_only *only = frame.sqlite_only; only; only = only->next)
        if (strcmp(only->name, test->name) == 0)
            return true;
    return false;
}

int64_t test_number(void)
{
    return frame.begun;
}

struct arena *test_arena(void)
{
    return &frame.arena;
}

struct str test_file_at(const char *path)
{
    struct buf text = buf_new(&frame.arena, (size_t)64 << 20);
    char part[4096];
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_error("%s: no such file: run the test in the project's root or set SOURCE\n", path);
        _fail(__FILE__, __LINE__);
    }
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;)
        buf_add(&text, (struct str){ part, n });
    fclose(file);
    expect(!text.full, PLACE("the file is not too large"));
    return buf_str(&text);
}

struct str test_file(const char *path)
{
    const char *root = getenv("SOURCE");
    return test_file_at(str_format(&frame.arena, "%s/%s", root ? root : ".", path).s);
}

void expect_failed(struct place place)
{
    print_error("%s\n", place.code);
    _fail(place.file, place.line);
    abort();  // not reached: cmocka has jumped to the next test
}

void expect_str(struct str actual, struct str expected, struct place place)
{
    if (str_eq(actual, expected))
        return;
    print_error("%s\n  is  %.*s\n  not %.*s\n", place.code, STR(actual), STR(expected));
    _fail(place.file, place.line);
}

void expect_int(int64_t actual, int64_t expected, struct place place)
{
    if (actual == expected)
        return;
    print_error("%s\n  is  %lld\n  not %lld\n", place.code, (long long)actual,
                (long long)expected);
    _fail(place.file, place.line);
}

void expect_done(bool done, const struct pawl_error *err, struct place place)
{
    if (done)
        return;
    print_error("%s\n  was refused: %s: %s\n", place.code, pawl_code(err->code)->word,
                err->message);
    _fail(place.file, place.line);
}

void expect_refused(bool done, enum pawl_code code, const struct pawl_error *err,
                    struct place place)
{
    if (!done && err->code == code)
        return;
    if (done)
        print_error("%s\n  was not refused with %s\n", place.code, pawl_code(code)->word);
    else
        print_error("%s\n  was refused with %s, not %s: %s\n", place.code,
                    pawl_code(err->code)->word, pawl_code(code)->word, err->message);
    _fail(place.file, place.line);
}

static void run(void **state)
{
    const struct test *test = *state;
    frame.begun++;
    test->body();
    frame.passed++;
}

static int clean_up(void **state)
{
    (void)state;
    arena_end(&frame.arena);
    return 0;
}

// Fills `cases`, which may be NULL to count only, with the tests that the filter lets through.
static size_t choose(const char *filter, struct CMUnitTest *cases)
{
    size_t count = 0;
    for (struct test *test = frame.first; test; test = test->next) {
        if (!strstr(test->name, filter) || left_out(test))
            continue;
        if (cases)
            cases[count] = (struct CMUnitTest){ test->name, run, NULL, clean_up, test };
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    size_t count = choose(filter, NULL);
    struct CMUnitTest *cases = calloc(count + 1, sizeof(*cases));
    if (!cases)
        return EXIT_FAILURE;
    choose(filter, cases);
    int failed = count > 0 ? _cmocka_run_group_tests(argv[0], cases, count, NULL, NULL) : 1;
    free(cases);
    if (count == 0)
        fprintf(stderr, "no test has `%s` in its name\n", filter);
    printf("pawl-cases: %zu passed, %d failed\n", frame.passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
