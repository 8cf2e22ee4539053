// Expat tells of one element after the other; a table says which ones matter, whatever the format.
// Text is gathered only inside those, and becomes a part of the article when they end.
#include "feed.h"

#include <expat.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dates.h"
#include "plain.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))
#define RSS1 "http://purl.org/rss/1.0/ "
#define RSS090 "http://my.netscape.com/rdf/simple/0.9/ "
#define RDF "http://www.w3.org/1999/02/22-rdf-syntax-ns# "
#define ATOM "http://www.w3.org/2005/Atom "
#define CONTENT "http://purl.org/rss/1.0/modules/content/ "
#define DUBLIN "http://purl.org/dc/elements/1.1/ "

enum { TEXT_BYTES_MAX = 32 * 1024, DEPTH_MAX = 100 };
enum part { NOTHING, TITLE, LINK, ID, SUMMARY, BODY, PUBLISHED, UPDATED };

static const struct {
    const char *name, *kind;
} roots[] = {
    { "rss", "RSS 2.0" },
    { RDF "RDF", "RSS 1.0" },
    { ATOM "feed", "Atom" },
};

static const char *const items[] = { "item", RSS1 "item", RSS090 "item", ATOM "entry" };

static const struct {
    const char *name;
    enum part part;
} parts[] = {
    { "title", TITLE }, { "link", LINK }, { "guid", ID }, { "description", SUMMARY },
    { "pubDate", PUBLISHED },
    { RSS1 "title", TITLE }, { RSS1 "link", LINK }, { RSS1 "description", SUMMARY },
    { RSS090 "title", TITLE }, { RSS090 "link", LINK },
    { ATOM "title", TITLE }, { ATOM "link", LINK }, { ATOM "id", ID }, { ATOM "summary", SUMMARY },
    { ATOM "content", BODY }, { ATOM "published", PUBLISHED }, { ATOM "updated", UPDATED },
    { CONTENT "encoded", BODY }, { DUBLIN "date", PUBLISHED },
};

struct reader {
    XML_Parser parser;
    struct feed *feed;
    const char *refused;  // why we stopped it ourselves
    int depth, item_depth, part_depth;
    enum part part;
    bool html;            // what is gathered is HTML, not words
    bool permalink;       // the id is an address too
    char text[TEXT_BYTES_MAX];
    size_t length;
    struct article article;
    int64_t updated_at;
    char body[700], id[1024];
};

static void refuse(struct reader *r, const char *why)
{
    r->refused = why;
    XML_StopParser(r->parser, XML_FALSE);
}

// ----- what begins

static const char *attribute(const char **attributes, const char *name)
{
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return "";
}

static bool is_item(const char *name)
{
    for (size_t i = 0; i < countof(items); i++)
        if (strcmp(items[i], name) == 0)
            return true;
    return false;
}

static enum part part_of(const char *name)
{
    for (size_t i = 0; i < countof(parts); i++)
        if (strcmp(parts[i].name, name) == 0)
            return parts[i].part;
    return NOTHING;
}

static void begin_root(struct reader *r, const char *name)
{
    for (size_t i = 0; i < countof(roots); i++)
        if (strcmp(roots[i].name, name) == 0)
            r->feed->kind = roots[i].kind;
    if (!r->feed->kind)
        refuse(r, "it is no feed: neither RSS nor Atom");
}

static void begin_item(struct reader *r)
{
    r->item_depth = r->depth;
    r->article = (struct article){0};
    r->body[0] = r->id[0] = 0;
    r->updated_at = 0;
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", strlen(from) < size ? from : "");  // half an address is none
}

static void begin_part(struct reader *r, const char *name, const char **attributes)
{
    bool atom = strncmp(name, ATOM, sizeof(ATOM) - 1) == 0;
    r->part = part_of(name);
    r->part_depth = r->depth;
    r->length = 0;
    r->html = !atom || strcmp(attribute(attributes, "type"), "html") == 0;
    r->permalink = strcmp(attribute(attributes, "isPermaLink"), "false") != 0;
    const char *relation = attribute(attributes, "rel");
    if (atom && r->part == LINK && !r->article.url[0]
        && (!*relation || strcmp(relation, "alternate") == 0))
        copy(r->article.url, sizeof(r->article.url), attribute(attributes, "href"));
}

static void begin(void *context, const char *name, const char **attributes)
{
    struct reader *r = context;
    r->depth++;
    if (r->depth > DEPTH_MAX)
        refuse(r, "its elements are nested too deeply");
    else if (r->depth == 1)
        begin_root(r, name);
    else if (r->item_depth == 0 && is_item(name))
        begin_item(r);
    else if (r->item_depth > 0 && r->depth == r->item_depth + 1)
        begin_part(r, name, attributes);
    else if (r->part && r->length < TEXT_BYTES_MAX - 1)
        r->text[r->length++] = ' ';  // markup inside a text, as in XHTML
}

// ----- what is said

static void gather(void *context, const char *text, int length)
{
    struct reader *r = context;
    size_t room = TEXT_BYTES_MAX - 1 - r->length;
    size_t bytes = (size_t)length < room ? (size_t)length : room;
    if (!r->part)
        return;
    memcpy(r->text + r->length, text, bytes);
    r->length += bytes;
}

// An entity of a DTD that is not read, as &eacute; in old feeds: plain_text knows many.
static void skipped_entity(void *context, const char *name, int is_parameter)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "&%s;", name);
    if (!is_parameter && length > 0 && (size_t)length < sizeof(text))
        gather(context, text, length);
}

// ----- what ends

static void end_part(struct reader *r)
{
    char word[1024];
    struct article *article = &r->article;
    r->text[r->length] = 0;
    plain_text(r->text, false, word, sizeof(word));
    switch (r->part) {
    case TITLE: plain_text(r->text, r->html, article->title, sizeof(article->title)); break;
    case SUMMARY: plain_text(r->text, r->html, article->summary, sizeof(article->summary)); break;
    case BODY: plain_text(r->text, r->html, r->body, sizeof(r->body)); break;
    case PUBLISHED: (void)date_parse(word, &article->published_at); break;  // no date: as if none
    case UPDATED: (void)date_parse(word, &r->updated_at); break;
    case LINK:
        if (!article->url[0])
            copy(article->url, sizeof(article->url), word);
        break;
    case ID:
        if (r->permalink)
            copy(r->id, sizeof(r->id), word);
        break;
    case NOTHING: break;
    }
    r->part = NOTHING;
}

static bool keep(struct feed *feed, const struct article *article)
{
    if (feed->count % 64 == 0) {
        struct article *more = realloc(feed->articles, (feed->count + 64) * sizeof(*more));
        if (!more)
            return false;
        feed->articles = more;
    }
    feed->articles[feed->count++] = *article;
    return true;
}

static void end_item(struct reader *r)
{
    struct article *article = &r->article;
    r->item_depth = 0;
    if (!article->url[0] && strncmp(r->id, "http", 4) == 0)
        memcpy(article->url, r->id, sizeof(r->id));
    if (!article->summary[0])
        memcpy(article->summary, r->body, sizeof(r->body));
    if (!article->title[0])
        plain_text(article->summary, false, article->title, sizeof(article->title));
    if (article->published_at == 0)
        article->published_at = r->updated_at;
    if (!article->url[0] || !article->title[0] || r->feed->count == FEED_ARTICLES_MAX)
        r->feed->skipped++;
    else if (!keep(r->feed, article))
        refuse(r, "out of memory");
}

static void end(void *context, const char *name)
{
    (void)name;
    struct reader *r = context;
    if (r->part && r->depth == r->part_depth)
        end_part(r);
    if (r->item_depth && r->depth == r->item_depth)
        end_item(r);
    r->depth--;
}

// ----- what is not let in

static void declares_entity(void *context, const char *name, int is_parameter, const char *value,
                            int length, const char *base, const char *system_id,
                            const char *public_id, const char *notation)
{
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base;
    (void)system_id, (void)public_id, (void)notation;
    refuse(context, "it declares entities, which is not allowed");
}

// Expat knows UTF-8, UTF-16 and ISO-8859-1; others with one byte per character come from iconv.
static int foreign_encoding(void *context, const char *name, XML_Encoding *encoding)
{
    (void)context;
    iconv_t conversion = iconv_open("UCS-4LE", name);
    if (conversion == (iconv_t)-1)
        return XML_STATUS_ERROR;
    for (int i = 0; i < 256; i++) {
        char byte = (char)i, *from = &byte;
        unsigned char code[4] = {0};
        char *to = (char *)code;
        size_t from_left = 1, to_left = sizeof(code);
        bool whole = iconv(conversion, &from, &from_left, &to, &to_left) != (size_t)-1
            && to_left == 0;
        encoding->map[i] = whole ? code[0] | code[1] << 8 | code[2] << 16 : -1;
        iconv(conversion, NULL, NULL, NULL, NULL);  // forget half a character
    }
    iconv_close(conversion);
    return XML_STATUS_OK;
}

// -----

static bool failed(const struct reader *r, struct pawl_error *err)
{
    const char *why = r->refused ? r->refused : XML_ErrorString(XML_GetErrorCode(r->parser));
    err->code = PAWL_INVALID;
    snprintf(err->message, sizeof(err->message), "line %lu: %s",
             (unsigned long)XML_GetCurrentLineNumber(r->parser), why);
    return false;
}

static bool read_all(struct reader *r, const char *bytes, size_t length, struct pawl_error *err)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, begin, end);
    XML_SetCharacterDataHandler(r->parser, gather);
    XML_SetSkippedEntityHandler(r->parser, skipped_entity);
    XML_SetEntityDeclHandler(r->parser, declares_entity);
    XML_SetUnknownEncodingHandler(r->parser, foreign_encoding, NULL);
    return XML_Parse(r->parser, bytes, (int)length, XML_TRUE) == XML_STATUS_OK
        || failed(r, err);
}

bool feed_parse(struct feed *feed, const char *bytes, size_t length, struct pawl_error *err)
{
    *feed = (struct feed){0};
    struct reader *r = calloc(1, sizeof(*r));  // too large for the stack of a worker
    XML_Parser parser = XML_ParserCreateNS(NULL, ' ');
    bool good = false;
    if (r && parser) {
        r->parser = parser;
        r->feed = feed;
        good = read_all(r, bytes, length, err);
    } else {
        *err = (struct pawl_error){ .code = PAWL_NO_MEMORY, .message = "out of memory" };
    }
    if (parser)
        XML_ParserFree(parser);
    free(r);
    if (!good)
        feed_end(feed);
    return good;
}

void feed_end(struct feed *feed)
{
    free(feed->articles);
    *feed = (struct feed){0};
}
