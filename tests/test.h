// The frame of every test program: tests register themselves, main (in test.c) runs them.
//
//     TEST(OPS_4_equal_inputs_have_one_hash)
//     {
//         EXPECT_STR(stable_hash(test_arena(), value), "44136fa355b3678a1146ad16f7e8649e");
//     }
//
// The last line a program prints is `pawl-cases: P passed, F failed`. An argument is a filter: only
// tests with it in their name are run.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#undef fail
#include <cmocka.h>
#undef fail  // cmocka's word for "give up" is our word for "refuse"

#include "base/arena.h"
#include "base/error.h"

struct test {
    const char *name;
    void (*body)(void);
    struct test *next;
};

void test_register(struct test *test);

#define TEST(name)                                                   \
    static void name(void);                                          \
    __attribute__((constructor)) static void name##_register(void)   \
    {                                                                \
        static struct test test = { #name, name, NULL };             \
        test_register(&test);                                        \
    }                                                                \
    static void name(void)

// Above a test that is about SQLite itself: it is left out where tests run on another store.
#define SQLITE_ONLY(name, why)                                          \
    __attribute__((constructor)) static void name##_sqlite_only(void)   \
    {                                                                   \
        static struct sqlite_only only = { #name, why, NULL };          \
        test_sqlite_only(&only);                                        \
    }

struct sqlite_only {
    const char *name, *why;
    struct sqlite_only *next;
};

void test_sqlite_only(struct sqlite_only *only);

// How many tests have begun: another number is another test.
int64_t test_number(void);

// Memory that lives until the end of the test.
struct arena *test_arena(void);

// The contents of a file of the project, by its path from the root: `tests/vectors/x.json`; and of
// any file.
struct str test_file(const char *path);
struct str test_file_at(const char *path);

// Where in the source an expectation stands.
struct place {
    const char *file;
    int line;
    const char *code;
};

#define PLACE(code) ((struct place){ __FILE__, __LINE__, (code) })

_Noreturn void expect_failed(struct place place);

// Inline, so that compilers and analyzers know that what was expected holds from here on.
static inline void expect(bool holds, struct place place)
{
    if (!holds)
        expect_failed(place);
}

void expect_str(struct str actual, struct str expected, struct place place);
void expect_int(int64_t actual, int64_t expected, struct place place);
void expect_done(bool done, const struct pawl_error *err, struct place place);
void expect_refused(bool done, enum pawl_code code, const struct pawl_error *err,
                    struct place place);

#define EXPECT(condition) expect((condition), PLACE(#condition))
#define EXPECT_STR(actual, literal) expect_str((actual), S(literal), PLACE(#actual))
#define EXPECT_INT(actual, expected) \
    expect_int((int64_t)(actual), (int64_t)(expected), PLACE(#actual))

// These two want a `struct pawl_error err` in scope, which the call fills.
#define MUST(call) expect_done((call), &err, PLACE(#call))
#define EXPECT_REFUSED(refusal, call) expect_refused((call), (refusal), &err, PLACE(#call))
