// Behind json_plain a text is known to be well-formed, so reading it needs no checks: where a value
// is due one begins, and whatever is opened is closed before the text ends.
#include <string.h>

#include "base/json_plain.h"

struct reader {
    const char *s, *end;
};

static json_t *read_value(struct reader *r);

static void skip_blanks(struct reader *r)
{
    while (*r->s == ' ' || *r->s == '\n' || *r->s == '\t' || *r->s == '\r')
        r->s++;
}

// At the opening quote; the text has no escapes, so the next one ends it.
static struct str read_text(struct reader *r)
{
    const char *begin = r->s + 1;
    const char *end = memchr(begin, '"', (size_t)(r->end - begin));
    r->s = end + 1;
    return (struct str){ begin, (size_t)(end - begin) };
}

static json_t *read_string(struct reader *r)
{
    struct str text = read_text(r);
    return json_stringn_nocheck(text.s, text.n);
}

static json_t *read_object(struct reader *r)
{
    json_t *object = json_object();
    do {
        r->s++;  // the bracket, or a comma
        skip_blanks(r);
        if (*r->s == '}')
            break;
        struct str key = read_text(r);
        skip_blanks(r);
        r->s++;  // the colon
        if (json_object_setn_new_nocheck(object, key.s, key.n, read_value(r)) != 0) {
            json_decref(object);
            return NULL;
        }
    } while (*r->s == ',');
    r->s++;
    return object;
}

static json_t *read_list(struct reader *r)
{
    json_t *list = json_array();
    do {
        r->s++;
        skip_blanks(r);
        if (*r->s == ']')
            break;
        if (json_array_append_new(list, read_value(r)) != 0) {
            json_decref(list);
            return NULL;
        }
    } while (*r->s == ',');
    r->s++;
    return list;
}

// It has at most 15 digits, so both numbers are exact as doubles and their quotient is the double
// nearest to what is written.
static json_t *read_number(struct reader *r)
{
    bool negative = *r->s == '-', real = false;
    int64_t digits = 0;
    double scale = 1;
    for (r->s += negative; *r->s == '.' || (*r->s >= '0' && *r->s <= '9'); r->s++) {
        if (*r->s == '.') {
            real = true;
            continue;
        }
        digits = digits * 10 + (*r->s - '0');
        scale *= real ? 10 : 1;
    }
    if (!real)
        return json_integer(negative ? -digits : digits);
    double number = (double)digits / scale;
    return json_real(negative ? -number : number);
}

static json_t *read_word(struct reader *r, struct str word, json_t *value)
{
    r->s += word.n;
    return value;
}

static json_t *read_bare(struct reader *r)
{
    switch (*r->s) {
    case '"':
        return read_string(r);
    case '{':
        return read_object(r);
    case '[':
        return read_list(r);
    case 't':
        return read_word(r, S("true"), json_true());
    case 'f':
        return read_word(r, S("false"), json_false());
    case 'n':
        return read_word(r, S("null"), json_null());
    default:
        return read_number(r);
    }
}

// With the blanks around it. Behind a value in an object or a list there is always something.
static json_t *read_value(struct reader *r)
{
    skip_blanks(r);
    json_t *value = read_bare(r);
    if (value)
        skip_blanks(r);
    return value;
}

json_t *json_plain_value(struct str text)
{
    struct reader r = { text.s, text.s + text.n };
    bool closed = text.n > 0 && (*text.s == '{' || *text.s == '[');
    if (!closed || memchr(text.s, '\\', text.n) || !json_plain(text, NULL))
        return NULL;
    return read_bare(&r);
}
