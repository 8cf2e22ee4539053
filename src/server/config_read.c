// Kinds of values and tables of keys. A default goes the same way as a value in the file, so both
// have the same form and bounds.
#include "server/config_read.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/guess.h"
#include "base/time_text.h"
#include "model/text_rule.h"

PRINTF(3, 0)
static bool complain(const struct reading *r, struct yaml_place place, const char *format,
                     va_list args)
{
    char message[400];
    vsnprintf(message, sizeof(message), format, args);
    yaml_fault(r->faults, place, "%s", message);
    return false;
}

bool wrong(const struct reading *r, const struct yaml_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(r, (struct yaml_place){ node->line, node->column, r->path }, format, args);
    va_end(args);
    return false;
}

bool wrong_key(const struct reading *r, const struct yaml_node *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(r, (struct yaml_place){ node->key_line, node->key_column, r->path }, format, args);
    va_end(args);
    return false;
}

static const char *what(const struct yaml_node *node)
{
    if (node->kind == YAML_TEXT)
        return yaml_null(node) ? "nothing" : "a text";
    return node->kind == YAML_MAP ? "a map" : "a list";
}

bool node_is_map(const struct reading *r, const struct yaml_node *node, const char *want)
{
    return node->kind == YAML_MAP || yaml_null(node)
        || wrong(r, node, "must be %s, not %s", want, what(node));
}

bool node_is_text(const struct reading *r, const struct yaml_node *node, const char *want)
{
    return (node->kind == YAML_TEXT && !yaml_null(node))
        || wrong(r, node, "must be %s, not %s", want, what(node));
}

const struct yaml_node *node_find(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = map->kind == YAML_MAP ? map->first : NULL;
    while (node && !str_eq(node->key, str_of(key)))
        node = node->next;
    return node;
}

// ----- text

static bool read_bounded(const struct reading *r, const struct config_row *row,
                         const struct yaml_node *node, struct str *to)
{
    if (!node_is_text(r, node, "a text"))
        return false;
    if (node->text.n == 0 || node->text.n > (size_t)row->max)
        return wrong(r, node, "must be a text of 1 to %lld bytes", (long long)row->max);
    *to = node->text;
    return true;
}

static void read_text(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    read_bounded(r, row, node, to);
}

static json_t *show_text(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    struct str text = *(const struct str *)from;
    return text.n ? json_stringn(text.s, text.n) : json_null();
}

static void read_name(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "1 to 128 of A-Z a-z 0-9 . _ : -";
    if (!node_is_text(r, node, want))
        return;
    if (node->text.n > NAME_BYTES_MAX || !text_is_name(node->text))
        wrong(r, node, "must be %s", want);
    else
        *(struct str *)to = node->text;
}

static void read_queue(const struct reading *r, const struct config_row *row,
                       const struct yaml_node *node, void *to)
{
    if (node->kind == YAML_TEXT && str_eq(node->text, DEADLETTER_QUEUE))
        wrong(r, node, "nothing can be enqueued to q:deadletter");
    else
        read_name(r, row, node, to);
}

const struct config_kind kind_text = { "text", read_text, show_text, NULL };
const struct config_kind kind_name = { "name", read_name, show_text, NULL };
const struct config_kind kind_queue = { "queue", read_queue, show_text, NULL };

// ----- words

static void read_switch(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "true or false";
    if (!node_is_text(r, node, want))
        return;
    bool yes = str_eq(node->text, S("true")), no = str_eq(node->text, S("false"));
    if (node->quoted || (!yes && !no))
        wrong(r, node, "must be %s", want);
    else
        *(bool *)to = yes;
}

static json_t *show_switch(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    return json_boolean(*(const bool *)from);
}

static struct str listed(struct arena *arena, const char *const *words)
{
    struct buf text = buf_new(arena, KEY_BYTES_MAX);
    for (size_t i = 0; words[i]; i++) {
        const char *between = words[i + 1] ? ", " : " or ";
        buf_addf(&text, "%s%s", i ? between : "", words[i]);
    }
    return buf_str(&text);
}

// The index of the word, as the enum or bool that the member is.
static void read_choice(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    struct str want = listed(r->arena, row->words);
    if (!node_is_text(r, node, want.s))
        return;
    unsigned i = 0;
    while (row->words[i] && !str_eq(node->text, str_of(row->words[i])))
        i++;
    if (!row->words[i])
        wrong(r, node, "must be %.*s", STR(want));
    else if (row->bytes == sizeof(bool))
        *(bool *)to = i != 0;
    else
        *(unsigned *)to = i;
}

static json_t *show_choice(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena;
    bool two = row->bytes == sizeof(bool);
    return json_string(row->words[two ? *(const bool *)from : *(const unsigned *)from]);
}

const struct config_kind kind_switch = { "true or false", read_switch, show_switch, NULL };
const struct config_kind kind_choice = { "word", read_choice, show_choice, NULL };

// ----- numbers

static struct str number_text(struct arena *arena, int64_t number)
{
    return str_format(arena, "%lld", (long long)number);
}

static bool in_bounds(const struct config_row *row, int64_t number)
{
    return number >= row->min && number <= row->max;
}

static void read_number(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    int64_t number = 0;
    if (!node_is_text(r, node, "a whole number"))
        return;
    if (node->quoted || !str_int(node->text, &number) || !in_bounds(row, number))
        wrong(r, node, "must be a whole number from %lld to %lld", (long long)row->min,
              (long long)row->max);
    else
        *(int64_t *)to = number;
}

static json_t *show_number(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    return json_integer(*(const int64_t *)from);
}

static void read_duration(const struct reading *r, const struct config_row *row,
                          const struct yaml_node *node, void *to)
{
    const char *want = "a duration such as 500ms, 5s, 2m, 1h, 7d";
    int64_t duration = 0;
    if (!node_is_text(r, node, want))
        return;
    if (!duration_parse(node->text, &duration))
        wrong(r, node, "must be %s", want);
    else if (!in_bounds(row, duration))
        wrong(r, node, "must be %s, from %s to %s", want, duration_text(r->arena, row->min).s,
              duration_text(r->arena, row->max).s);
    else
        *(int64_t *)to = duration;
}

static json_t *show_duration(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    return json_string(duration_text(arena, *(const int64_t *)from).s);
}

static const struct {
    struct str word;
    int64_t bytes;
} units[] = {
    { { "GiB", 3 }, 1 << 30 },
    { { "MiB", 3 }, 1 << 20 },
    { { "KiB", 3 }, 1 << 10 },
    { { "B", 1 }, 1 },
};

static bool size_parse(struct str text, int64_t *size)
{
    for (size_t i = 0; i < countof(units); i++) {
        struct str number = { text.s, text.n - units[i].word.n };
        if (str_ends(text, units[i].word))
            return str_int(number, size) && *size >= 0
                && !__builtin_mul_overflow(*size, units[i].bytes, size);
    }
    return false;
}

static struct str size_text(struct arena *arena, int64_t size)
{
    size_t i = 0;
    while (size % units[i].bytes || (size == 0 && units[i].bytes > 1))
        i++;
    return str_format(arena, "%lld%s", (long long)(size / units[i].bytes), units[i].word.s);
}

static void read_size(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    const char *want = "a size such as 512B, 64KiB, 1MiB";
    int64_t size = 0;
    if (!node_is_text(r, node, want))
        return;
    if (!size_parse(node->text, &size))
        wrong(r, node, "must be %s", want);
    else if (!in_bounds(row, size))
        wrong(r, node, "must be %s, from %s to %s", want, size_text(r->arena, row->min).s,
              size_text(r->arena, row->max).s);
    else
        *(int64_t *)to = size;
}

static json_t *show_size(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    return json_string(size_text(arena, *(const int64_t *)from).s);
}

const struct config_kind kind_number = { "number", read_number, show_number, number_text };
const struct config_kind kind_duration = { "duration", read_duration, show_duration,
                                           duration_text };
const struct config_kind kind_size = { "size", read_size, show_size, size_text };

// ----- sections

static void read_section(const struct reading *r, const struct config_row *row,
                         const struct yaml_node *node, void *to)
{
    if (node_is_map(r, node, "a map"))
        table_read(r, row->table, node, to);
}

static json_t *show_section(struct arena *arena, const struct config_row *row, const void *from)
{
    return table_show(arena, row->table, from);
}

const struct config_kind kind_section = { "section", read_section, show_section, NULL };

// ----- tables

static void *member(void *into, const struct config_row *row)
{
    return (char *)into + row->offset;
}

void table_defaults(const struct reading *r, const struct config_table *table, void *into)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct config_row *row = &table->rows[i];
        const struct yaml_node value = { .text = str_of(row->initial) };
        size_t before = r->faults->count;
        if (row->table && row->kind == &kind_section)
            table_defaults(r, row->table, member(into, row));
        else if (row->initial)
            row->kind->read(r, row, &value, member(into, row));
        assert(r->faults->count == before);
    }
}

static void refuse_unknown(const struct reading *r, const struct config_table *table,
                           const struct yaml_node *node)
{
    struct guess guess = {0};
    for (size_t i = 0; i < table->count; i++) {
        if (str_eq(node->key, str_of(table->rows[i].key)))
            return;
        guess_try(&guess, node->key, table->rows[i].key);
    }
    if (guess.name)
        wrong_key(SUB(r, node), node, "unknown key; did you mean %s?", guess.name);
    else
        wrong_key(SUB(r, node), node, "unknown key");
}

void table_read(const struct reading *r, const struct config_table *table,
                const struct yaml_node *map, void *into)
{
    for (const struct yaml_node *node = map->first; node; node = node->next)
        refuse_unknown(r, table, node);
    for (size_t i = 0; i < table->count; i++) {
        const struct config_row *row = &table->rows[i];
        const struct yaml_node *node = node_find(map, row->key);
        if (node)
            row->kind->read(SUB(r, node), row, node, member(into, row));
    }
}

json_t *table_show(struct arena *arena, const struct config_table *table, const void *from)
{
    json_t *object = json_object();
    bool complete = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct config_row *row = &table->rows[i];
        const char *value = (const char *)from + row->offset;
        if (row->kind->show)
            complete &= json_object_set_new(object, row->key,
                                            row->kind->show(arena, row, value))
                     == 0;
    }
    if (complete)
        return object;
    json_decref(object);
    return NULL;
}

static struct str form(const struct config_row *row, struct arena *arena)
{
    if (row->words)
        return listed(arena, row->words);
    if (!row->kind->bound)
        return str_of(row->kind->form);
    struct str min = row->kind->bound(arena, row->min), max = row->kind->bound(arena, row->max);
    return str_format(arena, "%s from %.*s to %.*s", row->kind->form, STR(min), STR(max));
}

void table_describe(const struct config_table *table, struct buf *page)
{
    buf_addf(page, "### `%s`\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
             table->name);
    for (size_t i = 0; i < table->count; i++) {
        const struct config_row *row = &table->rows[i];
        const char *tick = row->initial ? "`" : "";
        buf_addf(page, "| `%s` | %.*s | %s%s%s | %s |\n", row->key, STR(form(row, page->arena)),
                 tick, row->initial ? row->initial : "", tick, row->meaning);
    }
    buf_add_char(page, '\n');
}
