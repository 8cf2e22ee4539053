// Tries it as JSON; what our own limits refuse (depth, double keys) is text like any other.
#include "server/command_result.h"

#include <string.h>

#include "base/json.h"

static struct str without_end(struct str text, const char *letters)
{
    while (text.n > 0 && strchr(letters, text.s[text.n - 1]) && text.s[text.n - 1])
        text.n--;
    return text;
}

static struct str as_utf8(struct arena *arena, struct str text)
{
    struct buf clean = buf_new(arena, 3 * text.n);
    for (size_t i = 0; i < text.n;) {
        struct str rest = { text.s + i, text.n - i };
        size_t step = *rest.s ? utf8_step(rest) : 0;
        buf_add(&clean, step ? (struct str){ rest.s, step } : S("\xef\xbf\xbd"));
        i += step ? step : 1;
    }
    return buf_str(&clean);
}

bool command_result(struct arena *arena, struct str output, size_t bytes_max, struct str *json)
{
    SCOPED(json) json_t *value = NULL;
    struct str text = without_end(output, "\r\n");
    *json = S("");
    if (without_end(text, " \t\r\n").n == 0)
        return true;
    if (json_parse(text, bytes_max, &value, NULL)) {
        *json = str_dup(arena, text);
        return true;
    }
    struct str clean = as_utf8(arena, text);
    value = json_stringn(clean.s, clean.n);
    *json = json_text(arena, value);
    return json->n <= bytes_max;
}
