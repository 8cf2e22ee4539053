// Errors: one code, one message, filled once, where the problem was noticed.
//
// A function that can fail answers bool and takes `struct pawl_error *err` last. `false` means that
// nothing changed, with one exception: PAWL_IN_DOUBT says that the reply to a COMMIT was lost. The
// codes and the struct are the public ones.
#pragma once

#include "base/text.h"
#include "pawl.h"

// The word, the HTTP status and the exit status of each code share one row.
struct pawl_code_row {
    const char *word;  // machine-readable, part of the interface: `lease_lost`
    int http;
    int exit;
    bool refusal;  // noticed before anything was written: the transaction may go on
};

const struct pawl_code_row *pawl_code(enum pawl_code code);

// Fills `err` and answers false, so that a refusal is one statement. `err` may be NULL. Whatever it
// quotes, the message is one line of valid UTF-8: it can go into a log or a reply as it is.
CHECKED bool fail(struct pawl_error *err, enum pawl_code code, const char *format, ...)
    PRINTF(3, 4);
// So that the compiler knows too: there is no way on behind `held || fail(err, ...)`, nor behind
// another function that always answers false: #define refuse(...) REFUSES(refuse(__VA_ARGS__))
#define REFUSES(call) ((void)!(call), false)
#define fail(...) REFUSES((fail)(__VA_ARGS__))

// What is wrong with an input: every problem by the name of its field, not only the first.
struct problem {
    struct str field;
    struct str message;
};

enum { PROBLEMS_MAX = 100 };

struct problems {
    struct arena *arena;
    struct problem *list;  // in the arena, from the first on: most inputs have none
    size_t count;
    size_t left_out;  // how many there were besides, for which there was no room
    size_t large;     // how many of all are only that something is too large
};

void problem_add(struct problems *problems, const char *field, const char *format, ...)
    PRINTF(3, 4);

// Forgets all, before a second look.
void problems_forget(struct problems *problems);

// A field that could not be read, one of the first `read`, is not blamed again by who missed its
// value.
void problems_once(struct problems *problems, size_t read);

// True when there is no problem; else fills `err` with PAWL_INVALID and all problems in one
// line, or as many as have room and the number of the others.
CHECKED bool problems_none(const struct problems *problems, struct pawl_error *err);
