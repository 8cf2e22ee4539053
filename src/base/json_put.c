// Whether a comma is due can be seen from the last character: no value ends in an open bracket or a
// colon. So there is no state but the text.
#include "base/json_put.h"

#include "base/time_text.h"

// Other control characters are \u00xx, all the rest stands for itself.
static const char escapes[128] = {
    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
    ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
};

void json_put_string(struct buf *out, struct str text)
{
    size_t plain = 0;  // from here on nothing needs an escape
    buf_add_char(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        char escape = c < countof(escapes) ? escapes[c] : '\0';
        if (c >= 0x20 && !escape)
            continue;
        buf_add(out, (struct str){ text.s + plain, i - plain });
        if (escape)
            buf_addf(out, "\\%c", escape);
        else
            buf_addf(out, "\\u%04x", c);
        plain = i + 1;
    }
    if (plain < text.n)
        buf_add(out, (struct str){ text.s + plain, text.n - plain });
    buf_add_char(out, '"');
}

static void begin(struct buf *out, const char *name)
{
    char last = out->n > 0 ? out->s[out->n - 1] : '[';
    if (last != '{' && last != '[')
        buf_add_char(out, ',');
    if (!name)
        return;
    buf_add_char(out, '"');  // our own names need no escape
    buf_add(out, str_of(name));
    buf_add(out, S("\":"));
}

void json_put_open(struct buf *out, const char *name, char bracket)
{
    begin(out, name);
    buf_add_char(out, bracket);
}

void json_put_close(struct buf *out, char bracket)
{
    buf_add_char(out, bracket);
}

void json_put_raw(struct buf *out, const char *name, struct str json)
{
    begin(out, name);
    buf_add(out, json.n > 0 ? json : S("null"));
}

void json_put_int(struct buf *out, const char *name, int64_t number)
{
    begin(out, name);
    buf_add_int(out, number, 1);
}

void json_put_bool(struct buf *out, const char *name, bool value)
{
    json_put_raw(out, name, value ? S("true") : S("false"));
}

void json_put_text(struct buf *out, const char *name, struct str text)
{
    if (text.n == 0) {
        json_put_raw(out, name, S("null"));
        return;
    }
    begin(out, name);
    json_put_string(out, text);
}

void json_put_time(struct buf *out, const char *name, pawl_time time)
{
    if (time == 0) {
        json_put_raw(out, name, S("null"));
        return;
    }
    begin(out, name);
    buf_add_char(out, '"');
    time_add(out, time);
    buf_add_char(out, '"');
}

void json_put_id(struct buf *out, const char *name, struct id id)
{
    char text[ID_TEXT + 1];
    id_format(id, text);
    json_put_text(out, name, id.high || id.low ? (struct str){ text, ID_TEXT } : S(""));
}
