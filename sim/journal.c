// Marks are found by the section the linker has put them in: one that is never reached is known.
#include "journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void journal_begin(struct journal *journal, bool print)
{
    journal->hash = 0xcbf29ce484222325;
    journal->count = 0;
    journal->print = print;
}

void journal_add(struct journal *journal, int64_t now_us, const char *format, ...)
{
    char *line = journal->lines[journal->count++ % JOURNAL_LINES];
    int n = snprintf(line, JOURNAL_LINE_BYTES, "%13.6f ", (double)now_us / 1e6);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + n, (size_t)(JOURNAL_LINE_BYTES - n), format, arguments);
    va_end(arguments);
    for (const char *c = line; *c; c++)
        journal->hash = (journal->hash ^ (unsigned char)*c) * 0x100000001b3;
    if (journal->print)
        puts(line);
}

void journal_print(const struct journal *journal)
{
    size_t first = journal->count > JOURNAL_LINES ? journal->count - JOURNAL_LINES : 0;
    for (size_t i = first; i < journal->count; i++)
        puts(journal->lines[i % JOURNAL_LINES]);
}

// Made by the linker: the beginning of the section, and what is behind its end.
extern struct mark __start_sim_marks[], __stop_sim_marks[];

size_t marks_missing(bool print)
{
    size_t missing = 0;
    for (const struct mark *mark = __start_sim_marks; mark != __stop_sim_marks; mark++)
        if (mark->times == 0) {
            missing++;
            if (print)
                printf("never reached: %s\n", mark->name);
        }
    return missing;
}

size_t marks_count(void)
{
    size_t count = 0;
    for (const struct mark *mark = __start_sim_marks; mark != __stop_sim_marks; mark++)
        count++;
    return count;
}
