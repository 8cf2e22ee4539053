// Reads cron expressions. A row per field says what it may hold; one grammar reads them all:
// parts between commas, each a value, a range or a star, with an optional step; and the extra words
// of the two day fields.
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/calendar.h"
#include "model/cron.h"

static const char month_names[] = "jan feb mar apr may jun jul aug sep oct nov dec";
static const char weekday_names[] = "sun mon tue wed thu fri sat";

enum { FIELD_SECOND, FIELD_MINUTE, FIELD_HOUR, FIELD_DAY, FIELD_MONTH, FIELD_WEEKDAY, FIELDS };

static const struct field {
    const char *name;
    int64_t min, max;
    const char *names;  // of three letters, for the values from `min` on; NULL: numbers only
    const char *want;   // completes "may be ..."
} fields[] = {
    [FIELD_SECOND]  = { "second",       0, 59, NULL,          "0 to 59" },
    [FIELD_MINUTE]  = { "minute",       0, 59, NULL,          "0 to 59" },
    [FIELD_HOUR]    = { "hour",         0, 23, NULL,          "0 to 23" },
    [FIELD_DAY]     = { "day of month", 1, 31, NULL,          "1 to 31, L, L-3, LW or 15W" },
    [FIELD_MONTH]   = { "month",        1, 12, month_names,   "1 to 12 or jan to dec" },
    [FIELD_WEEKDAY] = { "day of week",  0, 6,  weekday_names, "0 to 7, sun to sat, fri#2 or friL" },
};
_Static_assert(countof(fields) == FIELDS, "one row per field");

static const struct { const char *name, *meaning; } shorthands[] = {
    { "@hourly", "0 * * * *" },    { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },    { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

// ----- letters and numbers

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool take(struct str *text, char mark)
{
    if (text->n == 0 || lower(text->s[0]) != mark)
        return false;
    *text = (struct str){ text->s + 1, text->n - 1 };
    return true;
}

static bool same_word(struct str text, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (i >= text.n || lower(text.s[i]) != word[i])
            return false;
    return true;
}

// At most three digits, so that it never overflows.
static bool take_number(struct str *text, int64_t min, int64_t max, int64_t *number)
{
    size_t n = 0;
    *number = 0;
    for (; n < text->n && n < 3 && text->s[n] >= '0' && text->s[n] <= '9'; n++)
        *number = *number * 10 + (text->s[n] - '0');
    *text = (struct str){ text->s + n, text->n - n };
    return n > 0 && *number >= min && *number <= max;
}

static bool take_value(struct str *text, const struct field *field, int64_t *value)
{
    int64_t index = field->min;
    for (const char *name = field->names; name && index <= field->max; name += 4, index++) {
        if (!same_word(*text, name, 3))
            continue;
        *text = (struct str){ text->s + 3, text->n - 3 };
        *value = index;
        return true;
    }
    bool weekday = field == &fields[FIELD_WEEKDAY];
    return take_number(text, field->min, weekday ? 7 : field->max, value);
}

// ----- one part of a field

// `text` is what is left of the part.
struct part {
    const struct field *field;
    struct str text;
    bool bad_step;
    uint64_t set;
};

static uint32_t bit(int64_t n)
{
    return (uint32_t)1 << n;
}

// Ranges go round: fri-mon, 22-2, nov-feb. 7 is a Sunday at either end.
static void add_range(struct part *part, int64_t from, int64_t to, int64_t step)
{
    const struct field *field = part->field;
    int64_t values = field->max - field->min + 1;
    if (from > field->max) {
        to = to == from ? field->min : to;
        from = field->min;
    }
    int64_t count = to >= from ? to - from : to + values - from;
    for (int64_t i = 0; i <= count; i += step)
        part->set |= (uint64_t)1 << (field->min + (from - field->min + i) % values);
}

static bool is_day_field(const struct field *field)
{
    return field == &fields[FIELD_DAY] || field == &fields[FIELD_WEEKDAY];
}

// `*`, `5`, `1-5`, each with or without `/step`; `5/10` goes on from 5 to the end.
static bool read_range(struct part *part)
{
    const struct field *field = part->field;
    int64_t from = field->min, to = field->max, step = 1;
    bool star = take(&part->text, '*') || (is_day_field(field) && take(&part->text, '?'));
    bool range = false;
    if (!star) {
        if (!take_value(&part->text, field, &from))
            return false;
        to = from;
        range = take(&part->text, '-');
        if (range && !take_value(&part->text, field, &to))
            return false;
    }
    if (take(&part->text, '/')) {
        part->bad_step = !take_number(&part->text, 1, field->max - field->min + 1, &step);
        if (part->bad_step)
            return false;
        to = star || range ? to : field->max;
    }
    add_range(part, from, to, step);
    return part->text.n == 0;
}

// `L`, `L-3`, `LW`, `15W`. What it cannot read it leaves as it was.
static bool read_day_word(struct part *part, struct cron *cron)
{
    struct str text = part->text;
    int64_t day = 0;
    if (!take(&text, 'l')) {
        if (!take_number(&text, 1, 31, &day) || !take(&text, 'w') || text.n)
            return false;
        cron->near_days |= bit(day);
        return true;
    }
    if (take(&text, 'w') && text.n == 0) {
        cron->last_workday = true;
        return true;
    }
    if (take(&text, '-') && !take_number(&text, 1, 30, &day))
        return false;
    if (text.n)
        return false;
    cron->days_before_last |= bit(day);
    return true;
}

// `5L`, `friL`, `5#2`, `mon#1`
static bool read_weekday_word(struct part *part, struct cron *cron)
{
    struct str text = part->text;
    int64_t day = 0, week = 0;
    if (!take_value(&text, part->field, &day))
        return false;
    uint8_t set = (uint8_t)bit(day % 7);
    if (take(&text, 'l') && text.n == 0) {
        cron->weekdays_last |= set;
        return true;
    }
    if (!take(&text, '#') || !take_number(&text, 1, CRON_WEEKS, &week) || text.n)
        return false;
    cron->weekdays_nth[week - 1] |= set;
    return true;
}

static bool read_part(struct part *part, struct cron *cron)
{
    if (part->field == &fields[FIELD_DAY] && read_day_word(part, cron))
        return true;
    if (part->field == &fields[FIELD_WEEKDAY] && read_weekday_word(part, cron))
        return true;
    return read_range(part);
}

// ----- fields

// What was read of each field, and the messages about all that is wrong.
struct reading {
    struct str words[FIELDS];
    uint64_t sets[FIELDS];
    struct cron cron;
    char wrong[400];
    size_t wrong_bytes;
};

PRINTF(2, 3)
static void complain(struct reading *reading, const char *format, ...)
{
    va_list args;
    size_t room = sizeof(reading->wrong) - reading->wrong_bytes;
    va_start(args, format);
    int n = vsnprintf(reading->wrong + reading->wrong_bytes, room, format, args);
    va_end(args);
    assert(n >= 0);  // bytes are written as they are: nothing is to be encoded
    reading->wrong_bytes += (size_t)n < room ? (size_t)n : room - 1;
}

static void refuse(struct reading *reading, const struct part *part, struct str text)
{
    const struct field *field = part->field;
    const char *before = reading->wrong_bytes ? "; " : "";
    if (part->bad_step)
        complain(reading, "%s%s `%.*s`: a step may be 1 to %d", before, field->name, STR(text),
                 (int)(field->max - field->min + 1));
    else
        complain(reading, "%s%s `%.*s`: may be %s", before, field->name, STR(text), field->want);
}

static void read_field(struct reading *reading, int index)
{
    struct part part = { .field = &fields[index] };
    struct str rest = reading->words[index], one;
    bool more = true;
    while (more) {
        more = str_cut(rest, ',', &one, &rest);
        part.text = one;
        if (read_part(&part, &reading->cron))
            continue;
        refuse(reading, &part, one.n ? one : reading->words[index]);
        return;
    }
    reading->sets[index] = part.set;
}

static bool is_star(struct str word)
{
    return word.s[0] == '*' || word.s[0] == '?';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

// Answers how many words there are, also when they are too many. The first of five is the minute.
static size_t split(struct str text, struct str words[FIELDS])
{
    size_t count = 0, i = 0;
    while (i < text.n) {
        size_t start = i;
        while (i < text.n && !is_space(text.s[i]))
            i++;
        if (count++ < FIELDS)
            words[count - 1] = (struct str){ text.s + start, i - start };
        while (i < text.n && is_space(text.s[i]))
            i++;
    }
    if (count != FIELDS - 1)
        return count;
    for (size_t n = FIELDS - 1; n > 0; n--)
        words[n] = words[n - 1];
    words[FIELD_SECOND] = S("0");
    return count;
}

static bool read_fields(struct str text, struct cron *cron, struct pawl_error *err)
{
    struct reading reading = {0};
    size_t count = split(text, reading.words);
    if (count != FIELDS && count != FIELDS - 1)
        return fail(err, PAWL_INVALID,
                    "cron `%.*s` has %zu field%s: it must have five (minute, hour, day of month, "
                    "month, day of week), or six with the second first",
                    STR(text), count, count == 1 ? "" : "s");
    for (int i = 0; i < FIELDS; i++)
        read_field(&reading, i);
    if (reading.wrong_bytes)
        return fail(err, PAWL_INVALID, "cron `%.*s`: %s", STR(text), reading.wrong);
    *cron = reading.cron;
    cron->seconds = reading.sets[FIELD_SECOND];
    cron->minutes = reading.sets[FIELD_MINUTE];
    cron->hours = (uint32_t)reading.sets[FIELD_HOUR];
    cron->days = (uint32_t)reading.sets[FIELD_DAY];
    cron->months = (uint32_t)reading.sets[FIELD_MONTH];
    cron->weekdays = (uint8_t)reading.sets[FIELD_WEEKDAY];
    cron->days_star = is_star(reading.words[FIELD_DAY]);
    cron->weekdays_star = is_star(reading.words[FIELD_WEEKDAY]);
    return true;
}

// Any 400 years have all dates there are, on all their weekdays.
static bool comes(const struct cron *cron)
{
    int64_t found, start = days_of((struct date){ 2000, 1, 1 }) * DAY_SECONDS;
    return cron_next(cron, start, &found);
}

static bool read_shorthand(struct str text, struct cron *cron, struct pawl_error *err)
{
    for (size_t i = 0; i < countof(shorthands); i++) {
        struct str name = str_of(shorthands[i].name);
        if (name.n == text.n && same_word(text, name.s, name.n))
            return read_fields(str_of(shorthands[i].meaning), cron, err);
    }
    return fail(err, PAWL_INVALID, "cron `%.*s`: may be @hourly, @daily, @midnight, @weekly, "
                                   "@monthly, @yearly or @annually",
                STR(text));
}

bool cron_parse(struct str text, struct cron *cron, struct pawl_error *err)
{
    struct cron read;
    if (text.n > CRON_BYTES_MAX)
        return fail(err, PAWL_INVALID, "a cron expression has at most %d bytes, this one has %zu",
                    CRON_BYTES_MAX, text.n);
    while (text.n && is_space(text.s[0]))
        text = (struct str){ text.s + 1, text.n - 1 };
    while (text.n && is_space(text.s[text.n - 1]))
        text.n--;
    if (text.n && text.s[0] == '@' ? !read_shorthand(text, &read, err)
                                   : !read_fields(text, &read, err))
        return false;
    if (!comes(&read))
        return fail(err, PAWL_INVALID, "cron `%.*s` never comes: no month has such a day",
                    STR(text));
    *cron = read;
    return true;
}
