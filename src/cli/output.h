// What people see: text that is safe on a terminal, tables, colours, JSON.
#pragma once

#include "base/json.h"
#include "base/list.h"
#include "base/world.h"

// The text with everything escaped that a terminal would obey instead of show: control characters,
// bytes that are not UTF-8, and characters that turn the direction of writing. JSON stays JSON.
struct str safe(struct arena *arena, struct str text);

bool is_terminal(int fd);          // one that obeys: $TERM is set and not `dumb`
size_t terminal_columns(int fd);   // 0: not a terminal, or it does not say
bool colours_on(void);  // standard output is a terminal, and NO_COLOR is not set

// A table with aligned columns, printed whole.
struct table {
    struct list cells;
    size_t columns;
    size_t shown;  // so many of the columns are printed, from the left
};

struct table table_of(struct arena *arena, const char *const *headings, size_t columns);
void table_add(struct table *table, struct str text);  // empty: a dash
void table_add_number(struct table *table, int64_t number);
void table_add_state(struct table *table, const json_t *job);  // in its colour
void table_narrow(struct table *table);  // leaves out columns from the right for a narrow terminal
void table_print(const struct table *table, const char *indent);
void table_print_list(struct table *table, const char *none);  // narrowed; `none`: said when empty

void print_title(const char *title);  // of a section, after an empty line

// A value as one line of JSON. PAWL_NO_MEMORY when there was none to make it; takes it over.
CHECKED bool print_json(struct arena *arena, json_t *value, struct pawl_error *err);

// A list as JSON, item by item: {"items":[...]}.
struct items {
    size_t count;
};
CHECKED bool items_print(struct items *items, const json_t *item, struct pawl_error *err);
void items_close(const struct items *items);

// `before: field: message` on standard error.
void print_problem(struct arena *arena, struct str before, const struct problem *problem);

// One line about a job: id, type, queue, state.
void print_job_line(struct arena *arena, const json_t *job, const char *remark);

// How long ago, in words: `3 s ago`, `in 5 min`.
struct str ago(struct arena *arena, pawl_time time, pawl_time now);
