// What happened in a run, line by line: the last lines for people, a hash of all of them for the
// question whether two runs were the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { JOURNAL_LINES = 200,
       JOURNAL_LINE_BYTES = 160 };

struct journal {
    uint64_t hash;
    size_t count;
    bool print;
    char lines[JOURNAL_LINES][JOURNAL_LINE_BYTES];
};

void journal_begin(struct journal *journal, bool print);
void journal_add(struct journal *journal, int64_t now_us, const char *format, ...) PRINTF(3, 4);
void journal_print(const struct journal *journal);  // the lines it still has

// ----- marks

// Rare paths that a long run must have taken: SIM_SEEN("a zombie's commit was refused").
struct mark {
    const char *name;
    size_t times;
};

#define SIM_SEEN(name)                                                               \
    do {                                                                             \
        static struct mark mark_ __attribute__((section("sim_marks"), used)) = { name, 0 }; \
        mark_.times++;                                                               \
    } while (0)

size_t marks_missing(bool print);  // how many were never reached
size_t marks_count(void);
