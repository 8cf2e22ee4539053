// The report of pawl bench --mode http.
#include "cli/bench_http.h"

#include <stdio.h>

#include "cli/figure.h"
#include "cli/output.h"
#include "model/json_field.h"

static const char *const ways[] = { [TARGET_AT_LEAST] = "at least", [TARGET_AT_MOST] = "at most" };

// ----- JSON

static json_t *target_json(const struct http_bench *b, enum http_figure figure)
{
    const struct http_figure_row *row = http_figure_row(figure);
    const struct json_field fields[] = {
        { "figure", json_string(row->name) },
        { "text", json_string(row->text) },
        { "way", json_string(row->target == TARGET_AT_LEAST ? ">=" : "<=") },
        { "bound", json_real(row->bound) },
        { "met", json_boolean(http_figure_met(figure, b->figures[figure])) },
    };
    return json_object_of(fields, countof(fields));
}

static json_t *targets_json(const struct http_bench *b)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < HTTP_FIGURES; i++)
        if (http_figure_row((enum http_figure)i)->target != TARGET_NONE)
            json_array_append_new(list, target_json(b, (enum http_figure)i));
    return list;
}

json_t *http_bench_json(const struct http_bench *b)
{
    const struct bench_options *o = &b->options;
    struct json_field fields[7 + HTTP_FIGURES] = {
        { "store", json_string("temporary") },
        { "mode", json_string("http") },
        { "jobs", json_integer(o->jobs) },
        { "payload_bytes", json_integer(o->payload_bytes) },
        { "batch", json_integer(o->batch) },
        { "threads", json_integer(o->threads) },
        { "targets", targets_json(b) },
    };
    struct json_field *figures = fields + countof(fields) - HTTP_FIGURES;
    for (unsigned i = 0; i < HTTP_FIGURES; i++) {
        const struct http_figure_row *row = http_figure_row((enum http_figure)i);
        figures[i] = (struct json_field){ row->name, figure_json(row->kind, b->figures[i]) };
    }
    return json_object_of(fields, countof(fields));
}

// ----- for people

static struct str target_text(struct arena *arena, const struct http_figure_row *row)
{
    if (row->target == TARGET_NONE)
        return S("");
    return str_format(arena, "%s %.*s", ways[row->target],
                      STR(figure_text(arena, row->kind, row->bound)));
}

void print_http_bench(struct arena *arena, const struct http_bench *b)
{
    static const char *const headings[] = { "FIGURE", "", "TARGET", "", "WHAT IT IS" };
    struct table table = table_of(arena, headings, countof(headings));
    for (unsigned i = 0; i < HTTP_FIGURES; i++) {
        const struct http_figure_row *row = http_figure_row((enum http_figure)i);
        bool met = http_figure_met((enum http_figure)i, b->figures[i]);
        table_add(&table, str_of(row->name));
        table_add(&table, figure_text(arena, row->kind, b->figures[i]));
        table_add(&table, target_text(arena, row));
        table_add(&table, row->target == TARGET_NONE ? S("") : met ? S("met")
                                                                  : S("missed"));
        table_add(&table, str_of(row->text));
    }
    table_print(&table, "");
    if (b->figures[HTTP_LONGPOLL_COUNT] < LONGPOLLS)
        printf("\nOnly %.0f of %d long-polls: there is a limit of open files (ulimit -Hn).\n",
               b->figures[HTTP_LONGPOLL_COUNT], LONGPOLLS);
    puts("\nCompare the ratios of runs with the same options: rates and times are this disk's.\n"
         "`pawl bench --help` says what is measured and how.");
}
