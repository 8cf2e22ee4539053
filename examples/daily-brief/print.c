// Plain lines of at most 100 columns; what is longer is wrapped between words.
#include "print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 96, OTHERS_MAX = 20 };

struct style {
    const char *bold, *dim, *plain;
};

static struct style style_for(FILE *out)
{
    const char *term = getenv("TERM");
    bool colours = isatty(fileno(out)) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
    return colours ? (struct style){ "\x1b[1m", "\x1b[2m", "\x1b[0m" }
                   : (struct style){ "", "", "" };
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int number_of(const json_t *object, const char *name)
{
    return (int)json_integer_value(json_object_get(object, name));
}

// How many columns some bytes take: one for each character.
static size_t width(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += (text[i] & 0xC0) != 0x80;
    return columns;
}

static void wrap(FILE *out, size_t indent, const char *text)
{
    size_t used = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        size_t columns = width(text, length);
        if (used > 0 && indent + used + 1 + columns > COLUMNS) {
            fputc('\n', out);
            used = 0;
        }
        if (used == 0)
            fprintf(out, "%*s", (int)indent, "");
        else
            fputc(' ', out);
        used += columns + (used > 0);
        fprintf(out, "%.*s", (int)length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_event(FILE *out, const struct style *s, size_t number, const json_t *event)
{
    size_t i;
    json_t *article;
    fprintf(out, "\n%s%2zu. %s%s\n", s->bold, number, text_of(event, "title"), s->plain);
    wrap(out, 4, text_of(event, "summary"));
    json_array_foreach (json_object_get(event, "articles"), i, article) {
        const char *at = text_of(article, "published_at");
        fprintf(out, "    %s%.5s%s  %-18s %s\n", s->dim, strlen(at) > 16 ? at + 11 : at, s->plain,
                text_of(article, "outlet"), text_of(article, "title"));
    }
}

static size_t print_large(FILE *out, const struct style *s, const json_t *events)
{
    size_t i, number = 0;
    json_t *event;
    json_array_foreach (events, i, event)
        if (number_of(event, "article_count") > 1)
            print_event(out, s, ++number, event);
    return number;
}

static void print_others(FILE *out, const struct style *s, const json_t *events, size_t from)
{
    size_t others = json_array_size(events) - from;
    if (others > 0)
        fprintf(out, "\n%sAlso in the news%s\n", s->bold, s->plain);
    for (size_t i = 0; i < others && i < OTHERS_MAX; i++) {
        const json_t *event = json_array_get(events, from + i);
        const json_t *article = json_array_get(json_object_get(event, "articles"), 0);
        fprintf(out, "    %-25s %s\n", text_of(article, "outlet"), text_of(event, "title"));
    }
    if (others > OTHERS_MAX)
        fprintf(out, "    and %zu more\n", others - OTHERS_MAX);
}

static void print_bad_feeds(FILE *out, const json_t *feeds)
{
    size_t i;
    json_t *feed;
    json_array_foreach (feeds, i, feed)
        if (*text_of(feed, "error"))
            fprintf(out, "\nNot read: %s (%s)\n", text_of(feed, "name"), text_of(feed, "error"));
}

void print_edition(FILE *out, const json_t *edition)
{
    struct style style = style_for(out);
    const json_t *events = json_object_get(edition, "events");
    fprintf(out, "\n%sThe Daily Brief%s  %s\n", style.bold, style.plain, text_of(edition, "title"));
    fprintf(out, "%s%d articles, %zu events, %zu feeds%s\n", style.dim,
            number_of(edition, "article_count"), json_array_size(events),
            json_array_size(json_object_get(edition, "feeds")), style.plain);
    size_t large = print_large(out, &style, events);
    print_others(out, &style, events, large);
    print_bad_feeds(out, json_object_get(edition, "feeds"));
}
