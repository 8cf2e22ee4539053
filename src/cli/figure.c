// Large numbers are grouped, small ones keep a digit more.
#include "cli/figure.h"

#include <math.h>

// 1234567 as 1,234,567.
static struct str grouped(struct arena *arena, double value)
{
    struct str digits = str_format(arena, "%.0f", value);
    struct buf out = buf_new(arena, 2 * digits.n + 1);
    for (size_t i = 0; i < digits.n; i++) {
        if (i > 0 && (digits.n - i) % 3 == 0)
            buf_add_char(&out, ',');
        buf_add_char(&out, digits.s[i]);
    }
    return buf_str(&out);
}

struct str figure_text(struct arena *arena, enum figure_kind kind, double value)
{
    static const char *const units[] = {
        [FIGURE_RATE] = "/s", [FIGURE_RATIO] = "", [FIGURE_TIME] = " us",
        [FIGURE_MS] = " ms", [FIGURE_BYTES] = " B", [FIGURE_COUNT] = "",
    };
    _Static_assert(countof(units) == FIGURE_KINDS, "one unit per kind");
    if (kind == FIGURE_RATIO)
        return str_format(arena, "%.3f", value);
    if (value < 100 && kind != FIGURE_COUNT)
        return str_format(arena, "%.1f%s", value, units[kind]);
    return str_format(arena, "%.*s%s", STR(grouped(arena, value)), units[kind]);
}

json_t *tenths_json(double value)
{
    return json_real(round(value * 10) / 10);
}

json_t *figure_json(enum figure_kind kind, double value)
{
    if (kind == FIGURE_RATIO)
        return json_real(round(value * 10000) / 10000);
    if (kind == FIGURE_BYTES || kind == FIGURE_COUNT || value >= 100)
        return json_integer((json_int_t)llround(value));
    return tenths_json(value);
}
