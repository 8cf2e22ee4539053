// What is plain is read by json_read.c. All other reading is jansson's, between a look at the depth
// before it (so that ten megabytes of `[` cost nothing) and one at the keys after it. Writing is
// ours, because jansson's has seventeen digits where one is enough and sorts keys by byte: one
// recursive writer serves both of our forms.

#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_plain.h"
#include "base/json_put.h"

// What a refusal says, by jansson's code; for others it is what jansson says. What jansson found
// there is not quoted: payloads hold what must not get into logs.
static const char *const sentences[] = {
    [json_error_stack_overflow] = "the value is nested too deeply",
    [json_error_invalid_utf8] = "the text is not valid UTF-8",
    [json_error_premature_end_of_input] = "the text ends before the value does",
    [json_error_end_of_input_expected] = "there is more after the value",
    [json_error_null_character] = "a NUL character is not allowed",
    [json_error_null_byte_in_key] = "a NUL character is not allowed in a key",
    [json_error_duplicate_key] = "this key is already in the object: each may be there once",
    [json_error_numeric_overflow] = "the number is out of range: 64 bits if whole, else a double",
};

static bool small_enough(struct str text, size_t bytes_max, struct pawl_error *err)
{
    if (text.n <= bytes_max)
        return true;
    return fail(err, PAWL_TOO_LARGE, "the JSON text has %zu bytes: at most %zu are allowed", text.n,
                bytes_max);
}

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!memchr(" \t\r\n", text.s[i], 4))
            return false;
    return true;
}

// What editors and empty pipes do to a text; the parser's own words for it mislead.
static bool has_a_beginning(struct str text, struct pawl_error *err)
{
    if (is_blank(text))
        return fail(err, PAWL_INVALID, "JSON line 1 column 0: the text is empty");
    if (str_starts(text, S("\xef\xbb\xbf")))
        return fail(err, PAWL_INVALID,
                    "JSON line 1 column 1: a byte order mark is not allowed, only plain UTF-8");
    return true;
}

// Counts open brackets outside strings. For text that is JSON this is exactly its depth; for text
// that is not, the parser says so next. jansson takes a NUL byte after a value for the end of the
// text, so NUL bytes are refused here.
static bool flat_enough(struct str text, struct pawl_error *err)
{
    int depth = 0, line = 1, column = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        column = c == '\n' ? 0 : column + ((c & 0xc0) != 0x80);  // characters, not bytes
        line += c == '\n';
        if (c == '\0')
            return fail(err, PAWL_INVALID, "JSON line %d column %d: a NUL character is not allowed",
                        line, column);
        if (c == '"')
            in_string = !in_string;
        if (in_string && c == '\\') {
            i++;
            column++;
        }
        if (in_string)
            continue;
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        if (depth > JSON_DEPTH_MAX)
            return fail(err, PAWL_INVALID,
                        "JSON line %d column %d: nested too deeply, at most %d levels are allowed",
                        line, column, JSON_DEPTH_MAX);
    }
    return true;
}

static bool refuse(const json_error_t *error, struct pawl_error *err)
{
    enum json_error_code code = json_error_code(error);
    // defensive: jansson has a code for it, and uses it where values are packed only
    if (error->text[0] == '\0' || code == json_error_out_of_memory)
        return fail(err, PAWL_NO_MEMORY, "no memory to parse JSON");
    // defensive: the codes behind the last sentence are of values that are unpacked
    if (code < countof(sentences) && sentences[code])
        return fail(err, PAWL_INVALID, "JSON line %d column %d: %s", error->line, error->column,
                    sentences[code]);
    const char *near = strstr(error->text, " near ");
    int n = near ? (int)(near - error->text) : (int)strlen(error->text);
    return fail(err, PAWL_INVALID, "JSON line %d column %d: %.*s", error->line, error->column, n,
                error->text);
}
#define refuse(...) REFUSES(refuse(__VA_ARGS__))

static bool load(struct str text, json_t **value, struct pawl_error *err)
{
    json_error_t error;
    *value = json_loadb(text.n > 0 ? text.s : "", text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                        &error);
    return *value || refuse(&error, err);
}

// jansson's iterators ask for a mutable object and do not change it.
static json_t *mutable(const json_t *value)
{
    return (json_t *)(uintptr_t)value;
}

static bool keys_short_enough(const json_t *value, struct pawl_error *err)
{
    const char *key;
    size_t i, n;
    json_t *child;
    json_array_foreach (value, i, child) {
        if (!keys_short_enough(child, err))
            return false;
    }
    json_object_keylen_foreach (mutable(value), key, n, child) {
        if (n > JSON_KEY_BYTES_MAX)
            return fail(err, PAWL_INVALID,
                        "JSON: the key that starts `%.40s` has %zu bytes: at most %d are allowed",
                        key, n, JSON_KEY_BYTES_MAX);
        if (!keys_short_enough(child, err))
            return false;
    }
    return true;
}

bool json_parse(struct str text, size_t bytes_max, json_t **value, struct pawl_error *err)
{
    *value = text.n <= bytes_max ? json_plain_value(text) : NULL;
    if (*value)
        return true;
    if (small_enough(text, bytes_max, err) && has_a_beginning(text, err) && flat_enough(text, err)
        && load(text, value, err) && keys_short_enough(*value, err))
        return true;
    json_end(value);
    return false;
}

json_t *json_of(struct str text)
{
    json_t *value = NULL;
    return load(text, &value, NULL) ? value : NULL;
}

void json_end(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

struct writer {
    struct buf buf;
    bool canonical;
};

// digits * 10^exponent
struct decimal {
    uint64_t digits;
    int exponent;
};

// Reads what "%.*e" wrote. The decimal mark is the locale's, so it is whatever is not a digit.
static struct decimal decimal_of(double number, int precision)
{
    char text[64];
    struct decimal decimal = { .exponent = 1 - precision };
    snprintf(text, sizeof(text), "%.*e", precision - 1, number);
    char *c = text;
    for (; *c != 'e'; c++) {
        if ((unsigned)(*c - '0') < 10)
            decimal.digits = decimal.digits * 10 + (uint64_t)(*c - '0');
    }
    decimal.exponent += (int)strtol(c + 1, NULL, 10);
    return decimal;
}

static bool reads_back(struct decimal decimal, double number)
{
    char text[64];
    snprintf(text, sizeof(text), "%" PRIu64 "e%d", decimal.digits, decimal.exponent);
    return strtod(text, NULL) == number;
}

// Just above a power of two doubles lie twice as far apart as just below it, so the nearest decimal
// may fail where the next one up reads back: try both.
static bool precise_enough(double number, int precision, struct decimal *decimal)
{
    *decimal = decimal_of(number, precision);
    if (reads_back(*decimal, number))
        return true;
    decimal->digits++;
    return reads_back(*decimal, number);
}

// The fewest digits that read back equal: 17 always do, and when some do, so do more.
static struct decimal shortest(double number)
{
    struct decimal best = decimal_of(number, 17), decimal;
    int low = 1, high = 17;
    while (low < high) {
        int precision = (low + high) / 2;
        if (precise_enough(number, precision, &decimal)) {
            best = decimal;
            high = precision;
        } else {
            low = precision + 1;
        }
    }
    return best;
}

// Lays out a number like ECMAScript's Number::toString. In json_text a whole real keeps its `.0`.
static void write_real(struct writer *writer, double number)
{
    static const char zeros[] = "000000000000000000000";
    const char *whole = writer->canonical ? "" : ".0";
    struct buf *buf = &writer->buf;
    assert(isfinite(number));
    if (signbit(number) && (number < 0 || !writer->canonical))
        buf_add_char(buf, '-');
    struct decimal decimal = {0};
    if (number != 0)
        decimal = shortest(fabs(number));
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, decimal.digits);
    int point = n + decimal.exponent;  // digits before the decimal point
    if (point > 21 || point < -5)
        buf_addf(buf, "%c%s%se%+d", digits[0], n > 1 ? "." : "", digits + 1, point - 1);
    else if (point <= 0)
        buf_addf(buf, "0.%.*s%s", -point, zeros, digits);
    else if (point < n)
        buf_addf(buf, "%.*s.%s", point, digits, digits + point);
    else
        buf_addf(buf, "%s%.*s%s", digits, point - n, zeros, whole);
}

struct member {
    struct str key;
    const json_t *value;
};

// UTF-8 sorts like code points. UTF-16 differs in one thing: what is above U+FFFF (UTF-8 bytes from
// 0xf0) is made of surrogates and comes before U+E000 to U+FFFF (first bytes 0xee and 0xef).
static int utf16_rank(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte == 0xee || byte == 0xef ? byte + 0x10 : byte;
}

static int by_utf16(const void *left, const void *right)
{
    struct str a = ((const struct member *)left)->key, b = ((const struct member *)right)->key;
    size_t i = 0;
    while (i < a.n && i < b.n && a.s[i] == b.s[i])
        i++;
    if (i == a.n || i == b.n)
        return (a.n > b.n) - (a.n < b.n);
    return utf16_rank(a.s[i]) - utf16_rank(b.s[i]);
}

static void write_value(struct writer *writer, const json_t *value);

static void write_object(struct writer *writer, const json_t *object)
{
    size_t count = 0, n;
    struct member *members = arena_new(writer->buf.arena, struct member, json_object_size(object));
    if (!members) {
        writer->buf.full = true;
        return;
    }
    const char *key;
    json_t *value;
    json_object_keylen_foreach (mutable(object), key, n, value)
        members[count++] = (struct member){ { key, n }, value };
    if (writer->canonical && count > 1)
        qsort(members, count, sizeof(*members), by_utf16);
    buf_add_char(&writer->buf, '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_add_char(&writer->buf, ',');
        json_put_string(&writer->buf, members[i].key);
        buf_add_char(&writer->buf, ':');
        write_value(writer, members[i].value);
    }
    buf_add_char(&writer->buf, '}');
}

static void write_array(struct writer *writer, const json_t *array)
{
    size_t i;
    json_t *value;
    buf_add_char(&writer->buf, '[');
    json_array_foreach (array, i, value) {
        if (i > 0)
            buf_add_char(&writer->buf, ',');
        write_value(writer, value);
    }
    buf_add_char(&writer->buf, ']');
}

static void write_value(struct writer *writer, const json_t *value)
{
    switch (json_typeof(value)) {  // defensive: there are no other types
    case JSON_OBJECT:
        write_object(writer, value);
        return;
    case JSON_ARRAY:
        write_array(writer, value);
        return;
    case JSON_STRING:
        json_put_string(&writer->buf,
                        (struct str){ json_string_value(value), json_string_length(value) });
        return;
    case JSON_INTEGER:
        buf_add_int(&writer->buf, json_integer_value(value), 1);
        return;
    case JSON_REAL:
        write_real(writer, json_real_value(value));
        return;
    case JSON_TRUE:
        buf_add(&writer->buf, S("true"));
        return;
    case JSON_FALSE:
        buf_add(&writer->buf, S("false"));
        return;
    case JSON_NULL:
        buf_add(&writer->buf, S("null"));
        return;
    }
}

// The text has no maximum of its own: it is bounded by the value. A text cut short by a lack of
// memory would be another value, so then there is none at all; nor of a value that is NULL because
// there was no memory to make it.
static struct str write_all(struct arena *arena, const json_t *value, bool canonical)
{
    struct writer writer = { buf_new(arena, SIZE_MAX), canonical };
    arena->failed |= !value;
    if (value)
        write_value(&writer, value);
    return writer.buf.full ? S("") : buf_str(&writer.buf);
}

struct str json_text(struct arena *arena, const json_t *value)
{
    return write_all(arena, value, false);
}

struct str json_canonical(struct arena *arena, const json_t *value)
{
    return write_all(arena, value, true);
}
