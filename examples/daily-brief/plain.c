// One pass from left to right. A tag is a `<` that is followed by what can begin one, so that
// "3 < 4" survives; an entity is decoded only if it is known, so that "R&D" survives too.
#include "plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define countof(array) (sizeof(array) / sizeof((array)[0]))

enum { TAG_BYTES = 16, ENTITY_BYTES = 12 };

struct writer {
    char *out;
    size_t size, used;
    bool blank;  // one is due before the next character
    bool full;
};

// ----- writing

size_t plain_put(unsigned long code, char *out, size_t size)
{
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2
                               : code < 0x10000   ? 3
                                                  : 4;
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    if (bytes > size)
        return 0;
    for (size_t i = bytes; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

static void write_bytes(struct writer *w, const char *bytes, size_t count)
{
    size_t wanted = count + (w->blank && w->used > 0);
    if (w->full || w->used + wanted >= w->size) {
        w->full = true;
        return;
    }
    if (w->blank && w->used > 0)
        w->out[w->used++] = ' ';
    w->blank = false;
    memcpy(w->out + w->used, bytes, count);
    w->used += count;
}

// Direction marks can make a headline read as something else than it is.
static bool misleading(unsigned long code)
{
    return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)
        || code == 0xFEFF;
}

static void write_code(struct writer *w, unsigned long code)
{
    char bytes[4];
    if (code <= ' ' || code == 0xA0 || (code >= 0x7F && code < 0xA0))
        w->blank = true;
    else if (!misleading(code))
        write_bytes(w, bytes, plain_put(code, bytes, sizeof(bytes)));
}

// The text was cut: back to the end of a word, if one is near.
static void mark_cut(struct writer *w)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    size_t room = sizeof(ellipsis) - 1;
    if (w->size <= room)
        return;
    w->out[w->used] = 0;
    size_t end = w->used < w->size - 1 - room ? w->used : w->size - 1 - room;
    while (end > 0 && (w->out[end] & 0xC0) == 0x80)  // never inside a character
        end--;
    for (size_t back = end; back > 0 && end - back < 40; back--)
        if (w->out[back] == ' ') {
            end = back;
            break;
        }
    memcpy(w->out + end, ellipsis, room);
    w->used = end + room;
}

// ----- reading

// A well-formed character, or 0 for a byte that begins none.
static size_t character(const char *text, unsigned long *code)
{
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0x80 ? 1 : first < 0xC2 ? 0
                                : first < 0xE0     ? 2
                                : first < 0xF0     ? 3
                                : first < 0xF5     ? 4
                                                   : 0;
    static const unsigned char mask[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    *code = first & mask[bytes];
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | ((unsigned char)text[i] & 0x3F);
    }
    return bytes;
}

static const struct {
    const char *name;
    unsigned code;
} entities[] = {
    { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' }, { "apos", '\'' },
    { "nbsp", 0xA0 }, { "ndash", 0x2013 }, { "mdash", 0x2014 }, { "hellip", 0x2026 },
    { "lsquo", 0x2018 }, { "rsquo", 0x2019 }, { "ldquo", 0x201C }, { "rdquo", 0x201D },
    { "laquo", 0xAB }, { "raquo", 0xBB }, { "bull", 0x2022 }, { "middot", 0xB7 },
    { "copy", 0xA9 }, { "reg", 0xAE }, { "trade", 0x2122 }, { "deg", 0xB0 }, { "euro", 0x20AC },
    { "pound", 0xA3 }, { "times", 0xD7 }, { "frac12", 0xBD }, { "eacute", 0xE9 },
    { "egrave", 0xE8 }, { "agrave", 0xE0 }, { "aacute", 0xE1 }, { "iacute", 0xED },
    { "oacute", 0xF3 }, { "uacute", 0xFA }, { "ntilde", 0xF1 }, { "ccedil", 0xE7 },
    { "auml", 0xE4 }, { "ouml", 0xF6 }, { "uuml", 0xFC }, { "Auml", 0xC4 }, { "Ouml", 0xD6 },
    { "Uuml", 0xDC }, { "szlig", 0xDF }, { "aring", 0xE5 }, { "oslash", 0xF8 }, { "ocirc", 0xF4 },
};

// The length of the entity at `text`, which is an `&`; 0 when it is none that is known.
static size_t entity(const char *text, unsigned long *code)
{
    const char *end = memchr(text, ';', strnlen(text, ENTITY_BYTES));
    if (!end || end < text + 2)
        return 0;
    if (text[1] == '#') {
        bool hex = text[2] == 'x' || text[2] == 'X';
        const char *digits = text + (hex ? 3 : 2);
        char *stop;
        *code = strtoul(digits, &stop, hex ? 16 : 10);
        return isalnum((unsigned char)*digits) && stop == end ? (size_t)(end + 1 - text) : 0;
    }
    size_t length = (size_t)(end - text - 1);
    for (size_t i = 0; i < countof(entities); i++)
        if (strlen(entities[i].name) == length && memcmp(entities[i].name, text + 1, length) == 0) {
            *code = entities[i].code;
            return length + 2;
        }
    return 0;
}

// ----- tags

static const char *const blocks[] = {
    "p", "br", "div", "li", "ul", "ol", "tr", "td", "th", "table", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "blockquote", "pre", "section", "article", "figure", "figcaption", "img",
};
static const char *const unseen[] = { "script", "style", "iframe", "object", "noscript" };

static bool one_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

static bool begins_tag(const char *text)
{
    return text[0] == '<'
        && (isalpha((unsigned char)text[1]) || text[1] == '/' || text[1] == '!' || text[1] == '?');
}

// What follows the tag at `text`. A `>` inside quotes does not end it; a tag without an end takes
// the rest.
static const char *after_tag(const char *text)
{
    if (strncmp(text, "<!--", 4) == 0) {
        const char *end = strstr(text + 4, "-->");
        return end ? end + 3 : text + strlen(text);
    }
    char quote = 0;
    for (text++; *text && (quote || *text != '>'); text++)
        if (quote)
            quote = *text == quote ? 0 : quote;
        else if ((*text == '"' || *text == '\'') && text[-1] == '=')
            quote = *text;
    return *text ? text + 1 : text;
}

static void tag_name(const char *text, char name[TAG_BYTES])
{
    size_t used = 0;
    for (text += text[1] == '/' ? 2 : 1; used < TAG_BYTES - 1 && isalnum((unsigned char)*text);)
        name[used++] = *text++;
    name[used] = 0;
}

// Skips to the tag that ends an element whose contents nobody should read.
static const char *after_unseen(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (; *text; text++)
        if (text[0] == '<' && text[1] == '/' && strncasecmp(text + 2, name, length) == 0)
            return after_tag(text);
    return text;
}

static const char *skip_tag(struct writer *w, const char *text)
{
    char name[TAG_BYTES];
    tag_name(text, name);
    w->blank = w->blank || one_of(blocks, countof(blocks), name);
    const char *rest = after_tag(text);
    bool closing = text[1] == '/';
    return !closing && one_of(unseen, countof(unseen), name) ? after_unseen(rest, name) : rest;
}

void plain_text(const char *text, bool html, char *out, size_t size)
{
    struct writer w = { .out = out, .size = size };
    while (*text && !w.full) {
        unsigned long code = 0xFFFD;
        if (html && begins_tag(text)) {
            text = skip_tag(&w, text);
            continue;
        }
        size_t bytes = html && *text == '&' ? entity(text, &code) : 0;
        if (bytes == 0)
            bytes = character(text, &code);
        write_code(&w, bytes > 0 ? code : 0xFFFD);
        text += bytes > 0 ? bytes : 1;
    }
    if (w.full)
        mark_cut(&w);
    out[w.used] = 0;
}
