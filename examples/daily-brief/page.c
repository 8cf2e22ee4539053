// Written from top to bottom into memory. A text of the edition reaches the page only through
// `escaped`; addresses were let in as http or https only (link.h), and are escaped too.
#include "page.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int number_of(const json_t *object, const char *name)
{
    return (int)json_integer_value(json_object_get(object, name));
}

static void escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*text, out);
        }
}

static void head(FILE *out, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"stylesheet\" href=\"/style.css\">\n<title>The Daily Brief: ",
          out);
    escaped(out, title);
    fputs("</title>\n</head>\n<body>\n", out);
}

static void foot(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}

// ----- the parts

static void other_day(FILE *out, const json_t *edition, const char *name, const char *words)
{
    const char *day = text_of(edition, name);
    if (!*day)
        return;
    fprintf(out, "<a rel=\"%s\" href=\"/?day=", name[0] == 'p' ? "prev" : "next");
    escaped(out, day);
    fprintf(out, "\">%s</a>\n", words);
}

static void masthead(FILE *out, const json_t *edition)
{
    const json_t *events = json_object_get(edition, "events");
    fputs("<header>\n<h1><a href=\"/\">The Daily Brief</a></h1>\n"
          "<p class=\"day\"><time datetime=\"",
          out);
    escaped(out, text_of(edition, "day"));
    fputs("\">", out);
    escaped(out, text_of(edition, "title"));
    fprintf(out,
            "</time></p>\n<p class=\"figures\">%d articles, %zu events, %zu feeds</p>\n<nav>\n",
            number_of(edition, "article_count"), json_array_size(events),
            json_array_size(json_object_get(edition, "feeds")));
    other_day(out, edition, "previous", "&larr; The day before");
    other_day(out, edition, "next", "The day after &rarr;");
    fputs("</nav>\n</header>\n", out);
}

static void article_line(FILE *out, const json_t *article)
{
    const char *at = text_of(article, "published_at");
    fputs("<li><time datetime=\"", out);
    escaped(out, at);
    fprintf(out, "\">%.5s</time> <span class=\"outlet\">", strlen(at) > 16 ? at + 11 : "");
    escaped(out, text_of(article, "outlet"));
    fputs("</span> <a rel=\"noopener noreferrer\" href=\"", out);
    escaped(out, text_of(article, "url"));
    fputs("\">", out);
    escaped(out, text_of(article, "title"));
    fputs("</a></li>\n", out);
}

static void event_card(FILE *out, const json_t *event)
{
    size_t i;
    json_t *article;
    fputs("<article>\n<h2>", out);
    escaped(out, text_of(event, "title"));
    fprintf(out, "</h2>\n<p class=\"count\">%d articles from %d outlets</p>\n<p>",
            number_of(event, "article_count"), number_of(event, "outlets"));
    escaped(out, text_of(event, "summary"));
    fputs("</p>\n<ul>\n", out);
    json_array_foreach (json_object_get(event, "articles"), i, article) {
        article_line(out, article);
    }
    fputs("</ul>\n</article>\n", out);
}

static void events(FILE *out, const json_t *edition)
{
    const json_t *all = json_object_get(edition, "events");
    size_t i, large = 0;
    json_t *event;
    fputs("<main>\n", out);
    json_array_foreach (all, i, event)
        if (number_of(event, "article_count") > 1)
            large = i + 1;  // they come first
    if (json_array_size(all) == 0)
        fputs("<p class=\"empty\">No news of this day yet.</p>\n", out);
    fputs("<section class=\"events\">\n", out);
    for (i = 0; i < large; i++)
        event_card(out, json_array_get(all, i));
    fputs("</section>\n", out);
    if (large < json_array_size(all)) {
        fputs("<section class=\"others\">\n<h2>Also in the news</h2>\n<ul>\n", out);
        for (i = large; i < json_array_size(all); i++)
            article_line(out, json_array_get(json_object_get(json_array_get(all, i), "articles"),
                                             0));
        fputs("</ul>\n</section>\n", out);
    }
    fputs("</main>\n", out);
}

static void health(FILE *out, const json_t *edition)
{
    size_t i;
    json_t *feed;
    fputs("<footer>\n<p>Times are UTC. The same as <a href=\"/brief.json?day=", out);
    escaped(out, text_of(edition, "day"));
    fputs("\">JSON</a>.</p>\n", out);
    json_array_foreach (json_object_get(edition, "feeds"), i, feed)
        if (*text_of(feed, "error")) {
            fputs("<p class=\"bad\">Not read: ", out);
            escaped(out, text_of(feed, "name"));
            fputs(" (", out);
            escaped(out, text_of(feed, "error"));
            fputs(")</p>\n", out);
        }
    fputs("</footer>\n", out);
}

// ----- documents

// What was written, or NULL when a part of it was lost.
static char *closed(FILE *out, char **text)
{
    bool whole = !ferror(out);
    whole = fclose(out) == 0 && whole;
    if (whole)
        return *text;
    free(*text);
    return NULL;
}

char *page_edition(const json_t *edition, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    head(out, text_of(edition, "title"));
    masthead(out, edition);
    events(out, edition);
    health(out, edition);
    foot(out);
    return closed(out, &text);
}

char *page_message(const char *title, const char *message, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    head(out, title);
    fputs("<header>\n<h1><a href=\"/\">The Daily Brief</a></h1>\n</header>\n"
          "<main>\n<p class=\"empty\">",
          out);
    escaped(out, message);
    fputs("</p>\n</main>\n", out);
    foot(out);
    return closed(out, &text);
}
