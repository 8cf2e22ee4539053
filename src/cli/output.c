// Whatever strangers put into a job is printed by a person's terminal: one function makes it safe,
// and everything here goes through it.
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/object.h"

struct cell {
    struct str text;
    const char *colour;  // empty: none
    size_t width;
};

// First and last of characters that do something instead of being seen.
static const struct { uint32_t first, last; } unsafe[] = {
    { 0x0000, 0x001f },  // control characters
    { 0x007f, 0x009f },  // delete, and the second set of control characters
    { 0x061c, 0x061c },  // marks of the direction of writing ...
    { 0x200b, 0x200f },
    { 0x2028, 0x202e },  // line separators, overrides of the direction
    { 0x2066, 0x2069 },
    { 0xfeff, 0xfeff },
    { 0xfff9, 0xfffb },
    { 0xe0000, 0xe007f },
};

static uint32_t decode(struct str character)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = (unsigned char)character.s[0] & masks[character.n];
    for (size_t i = 1; i < character.n; i++)
        code = code << 6 | ((unsigned char)character.s[i] & 0x3f);
    return code;
}

static bool is_unsafe(uint32_t code)
{
    for (size_t i = 0; i < countof(unsafe); i++)
        if (code >= unsafe[i].first && code <= unsafe[i].last)
            return true;
    return false;
}

// As JSON writes it, in two halves above U+FFFF.
static void add_escaped(struct buf *out, uint32_t code)
{
    if (code == '\n')
        buf_add(out, S("\\n"));
    else if (code == '\t')
        buf_add(out, S("\\t"));
    else if (code < 0x10000)
        buf_addf(out, "\\u%04x", (unsigned)code);
    else
        buf_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
                 (unsigned)(0xdc00 + (code & 0x3ff)));
}

struct str safe(struct arena *arena, struct str text)
{
    struct buf out = buf_new(arena, text.n * 12 + 1);
    for (size_t i = 0, step; i < text.n; i += step ? step : 1) {
        step = utf8_step((struct str){ text.s + i, text.n - i });
        struct str character = { text.s + i, step };
        if (step == 0)
            buf_addf(&out, "\\x%02x", (unsigned char)text.s[i]);
        else if (is_unsafe(decode(character)))
            add_escaped(&out, decode(character));
        else
            buf_add(&out, character);
    }
    return buf_str(&out);
}

bool is_terminal(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

size_t terminal_columns(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool colours_on(void)
{
    const char *no_color = getenv("NO_COLOR");
    return is_terminal(1) && (!no_color || !*no_color);
}

// Columns a text takes: East Asian wide characters and most pictures take two, accents none.
static size_t width_of(struct str text)
{
    size_t width = 0;
    for (size_t i = 0, step; i < text.n; i += step ? step : 1) {
        step = utf8_step((struct str){ text.s + i, text.n - i });
        uint32_t code = step ? decode((struct str){ text.s + i, step }) : '?';
        bool accent = code >= 0x300 && code <= 0x36f;
        bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf)
            || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff)
            || (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60)
            || (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
        if (!accent)
            width += wide ? 2 : 1;
    }
    return width;
}

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static void add_cell(struct table *table, struct str text, const char *colour)
{
    struct cell *cell = list_add(&table->cells);
    if (!cell)
        return;  // the arena remembers
    cell->text = safe(table->cells.arena, text);
    cell->colour = colour;
    cell->width = width_of(cell->text);
}

struct table table_of(struct arena *arena, const char *const *headings, size_t columns)
{
    struct table table = { list_of(arena, sizeof(struct cell)), columns, columns };
    for (size_t i = 0; i < columns; i++)
        add_cell(&table, str_of(headings[i]), BOLD);
    return table;
}

void table_add(struct table *table, struct str text)
{
    add_cell(table, text.n ? text : S("-"), "");
}

void table_add_number(struct table *table, int64_t number)
{
    add_cell(table, str_format(table->cells.arena, "%lld", (long long)number), "");
}

static const char *const state_colours[] = {
    [JOB_CREATED] = "",           [JOB_QUEUED] = "",
    [JOB_RUNNING] = "\033[36m",   [JOB_RETRYING] = "\033[33m",
    [JOB_SUCCEEDED] = "\033[32m", [JOB_FAILED] = "\033[31m",
    [JOB_TIMED_OUT] = "\033[31m",
};
_Static_assert(countof(state_colours) == JOB_STATES, "one colour per state");

static const char *colour_of(const json_t *job)
{
    enum job_state state;
    return object_state(job, &state) ? state_colours[state] : "";
}

void table_add_state(struct table *table, const json_t *job)
{
    add_cell(table, object_text(job, "state"), colour_of(job));
}

static size_t column_width(const struct table *table, size_t column)
{
    const struct cell *cells = table->cells.items;
    size_t width = 0;
    for (size_t i = column; i < table->cells.count; i += table->columns)
        width = cells[i].width > width ? cells[i].width : width;
    return width;
}

static void print_cell(const struct cell *cell, size_t width)
{
    bool coloured = *cell->colour && colours_on();
    size_t gap = width > cell->width ? width - cell->width : 0;
    printf("%s%.*s%s%*s", coloured ? cell->colour : "", STR(cell->text),
           coloured ? PLAIN : "", (int)gap, "");
}

static void print_row(const struct cell *cells, const size_t *widths, size_t columns)
{
    for (size_t i = 0; i + 1 < columns; i++) {
        print_cell(&cells[i], widths[i]);
        fputs("  ", stdout);
    }
    print_cell(&cells[columns - 1], 0);
    putchar('\n');
}

// An id and a state are left in any case.
void table_narrow(struct table *table)
{
    size_t room = terminal_columns(STDOUT_FILENO), wide = 0;
    for (size_t i = 0; i < table->columns; i++)
        wide += column_width(table, i) + 2;
    for (; room > 0 && table->shown > 2 && wide > room + 2; table->shown--)
        wide -= column_width(table, table->shown - 1) + 2;
}

void table_print(const struct table *table, const char *indent)
{
    const struct cell *cells = table->cells.items;
    size_t columns = table->columns;
    size_t *widths = arena_new(table->cells.arena, size_t, columns);
    if (!widths || columns == 0)
        return;
    for (size_t i = 0; i < columns; i++)
        widths[i] = column_width(table, i);
    for (size_t i = 0; i + columns <= table->cells.count; i += columns) {
        fputs(indent, stdout);
        print_row(&cells[i], widths, table->shown);
    }
}

void table_print_list(struct table *table, const char *none)
{
    table_narrow(table);
    if (table->cells.count == table->columns)
        puts(none);
    else
        table_print(table, "");
}

void print_title(const char *title)
{
    bool bold = colours_on();
    printf("\n%s%s%s\n", bold ? BOLD : "", title, bold ? PLAIN : "");
}

static bool print_value(struct arena *arena, const json_t *value, struct pawl_error *err)
{
    struct str text = value ? safe(arena, json_text(arena, value)) : S("");
    if (text.n == 0)
        return fail(err, PAWL_NO_MEMORY, "no memory to print the answer");
    fwrite(text.s, 1, text.n, stdout);
    putchar('\n');
    return true;
}

bool print_json(struct arena *arena, json_t *value, struct pawl_error *err)
{
    SCOPED(json) json_t *owned = value;
    return print_value(arena, owned, err);
}

bool items_print(struct items *items, const json_t *item, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    fputs(items->count++ > 0 ? "," : "{\"items\":[", stdout);
    return print_value(&arena, item, err);
}

void items_close(const struct items *items)
{
    puts(items->count > 0 ? "]}" : "{\"items\":[]}");
}

void print_problem(struct arena *arena, struct str before, const struct problem *problem)
{
    fprintf(stderr, "%.*s: %.*s%s%.*s\n", STR(safe(arena, before)),
            STR(safe(arena, problem->field)), problem->field.n ? ": " : "",
            STR(safe(arena, problem->message)));
}

void print_job_line(struct arena *arena, const json_t *job, const char *remark)
{
    const char *colour = colours_on() ? colour_of(job) : "";
    printf("%.*s  %.*s  %.*s  %s%.*s%s%s%s\n", STR(safe(arena, object_text(job, "job_id"))),
           STR(safe(arena, object_text(job, "job_type"))),
           STR(safe(arena, object_text(job, "queue"))), colour,
           STR(safe(arena, object_text(job, "state"))), *colour ? PLAIN : "", *remark ? "  " : "",
           remark);
}

static int64_t nearest(int64_t distance, int64_t unit)
{
    return (distance + unit / 2) / unit;
}

struct str ago(struct arena *arena, pawl_time time, pawl_time now)
{
    // A unit is used from `from` on, as it looks rounded to the next smaller unit.
    static const struct { int64_t from, size, smaller; const char *unit; } units[] = {
        { DAYS(2),    DAYS(1),    HOURS(1),   "d" },
        { HOURS(2),   HOURS(1),   MINUTES(1), "h" },
        { MINUTES(2), MINUTES(1), SECONDS(1), "min" },
        { SECONDS(1), SECONDS(1), SECONDS(1), "s" },
    };
    bool ahead = time > now;
    int64_t distance = ahead ? time - now : now - time;
    for (size_t i = 0; i < countof(units); i++)
        if (nearest(distance, units[i].smaller) * units[i].smaller >= units[i].from)
            return str_format(arena, "%s%lld %s%s", ahead ? "in " : "",
                              (long long)nearest(distance, units[i].size), units[i].unit,
                              ahead ? "" : " ago");
    return S("now");
}
