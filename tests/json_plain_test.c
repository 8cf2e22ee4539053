// The scan that builds nothing: whatever it takes, json_parse takes as well, and has no secret.

#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_plain.h"
#include "base/world.h"
#include "model/secret.h"

static bool plain(struct str text)
{
    return json_plain(text, NULL);
}

static bool parses(struct str text)
{
    SCOPED(json) json_t *value = NULL;
    struct pawl_error err;
    return json_parse(text, (size_t)1 << 20, &value, &err);
}

TEST(json_plain_takes_what_payloads_are_made_of)
{
    static const char *const texts[] = {
        "{}", "[]", "\"\"", "0", "-1", "12.5", "123456789012345", "true", "false", "null",
        " { \"a\" : [ 1 , 2.50 , -0 ] ,\r\n\t\"b\":{\"c\":\"d\\n\\\"\\/\"} } ",
        "{\"name\":\"Zo\xc3\xab \xf0\x9f\x98\x80\"}", "[[[[[[[[]]]]]]]]", "{\"\":1}",
    };
    for (size_t i = 0; i < countof(texts); i++)
        expect(plain(str_of(texts[i])), PLACE(texts[i]));
}

TEST(json_plain_leaves_the_rest_to_the_parser)
{
    static const char *const texts[] = {
        "", " ", "{", "[", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "\"a",
        "\"\\",
        "\"\\x\"", "\"\t\"", "01", "+1", "1.", ".5", "-", "1e3", "1E3", "1234567890123456", "tru",
        "True", "1 2", "{}{}", "[1 2]", "{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":{\"c\":1,\"c\":2}}",
        "{\"\\u0061\":1}", "{\"a\\n\":1}", "\"\\u0041\"", "\"\xff\"", "\"\xc3\"",
        "\"\xed\xa0\x80\"",
        "[[[[[[[[[]]]]]]]]]", "\xef\xbb\xbf{}", "nulll", "'a'", "1 // a",
    };
    for (size_t i = 0; i < countof(texts); i++)
        expect(!plain(str_of(texts[i])), PLACE(texts[i]));
    EXPECT(!plain(S("{}\0")));
    EXPECT(!plain(S("\"a\0b\"")));
    EXPECT(!plain(S("\"\\\0\"")));
    EXPECT(!plain((struct str){ NULL, 0 }));
}

TEST(json_plain_asks_about_every_key)
{
    EXPECT(json_plain(S("{\"to\":\"a\"}"), secret_key_plain));
    EXPECT(!json_plain(S("{\"Pass-Word\":\"a\"}"), secret_key_plain));
    EXPECT(!json_plain(S("[{\"smtp\":{\"api_key\":\"a\"}}]"), secret_key_plain));
}

TEST(json_plain_has_no_long_keys)
{
    char text[JSON_KEY_BYTES_MAX + 8] = "{\"";
    memset(text + 2, 'k', JSON_KEY_BYTES_MAX);
    memcpy(text + 2 + JSON_KEY_BYTES_MAX, "\":1}", 5);
    EXPECT(plain(str_of(text)));
    memcpy(text + 2 + JSON_KEY_BYTES_MAX, "k\":1}", 6);
    EXPECT(!plain(str_of(text)));
}

// ----- generated texts

struct writer {
    struct virtual_world dice;
    struct buf text;
};

static size_t roll(struct writer *w, size_t sides)
{
    return (size_t)(world_random(&w->dice.world) % sides);
}

#define PICK(w, words) (words)[roll((w), countof(words))]

static void write_text(struct writer *w, bool is_key)
{
    static const char *const keys[] = { "a", "b", "c", "to", "password", "api-key", "\\u0061",
                                        "\xc3\xab" };
    static const char *const texts[] = {
        "", "x", "some words", "\\n", "\\u0041", "\xe2\x82\xac", "AKIAABCDEFGHIJKLMNOP", "AKIA",
        "ghp_0123456789012345678901234567890123456789", "-----BEGIN RSA PRIVATE KEY-----",
        "pawl_x_abcd_0123456789abcdef_0123", "A\\u004bIAABCDEFGHIJKLMNOP", "\\nsk_live_",
    };
    buf_addf(&w->text, "\"%s\"", is_key ? PICK(w, keys) : PICK(w, texts));
}

static void write_value(struct writer *w, int levels)
{
    static const char *const others[] = { "true", "false", "null", "0", "-7", "1.5", "1e2", "1e999",
                                          "00", "12345678901234567890" };
    size_t kind = roll(w, levels > 0 ? 4 : 2), count = roll(w, 4);
    if (kind == 0)
        write_text(w, false);
    if (kind == 1)
        buf_addf(&w->text, "%s", PICK(w, others));
    if (kind < 2)
        return;
    buf_add_char(&w->text, kind == 2 ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        buf_addf(&w->text, "%s", i ? "," : " ");
        if (kind == 2) {
            write_text(w, true);
            buf_add_char(&w->text, ':');
        }
        write_value(w, levels - 1);
    }
    buf_add_char(&w->text, kind == 2 ? '}' : ']');
}

// A byte becomes another, goes, or is there twice.
static struct str spoil(struct writer *w, struct str text)
{
    static const char bytes[] = "{}[]\",:\\ 0a.-eu\x80\xff\x1f";
    struct buf spoilt = buf_new(test_arena(), 1 << 16);
    size_t at = roll(w, text.n);
    buf_add(&spoilt, (struct str){ text.s, at });
    switch (roll(w, 3)) {
    case 0:
        buf_add_char(&spoilt, bytes[roll(w, sizeof bytes)]);
        break;
    case 1:
        buf_add(&spoilt, (struct str){ text.s + at, 1 });
        buf_add(&spoilt, (struct str){ text.s + at, 1 });
        break;
    default:
        break;
    }
    buf_add(&spoilt, (struct str){ text.s + at + 1, text.n - at - 1 });
    return buf_str(&spoilt);
}

static bool has_secret(struct str text)
{
    SCOPED(json) json_t *value = NULL;
    struct pawl_error err;
    struct problems problems = { .arena = test_arena() };
    return json_parse(text, (size_t)1 << 20, &value, &err)
        && !secret_none(value, "payload", &problems);
}

TEST(json_plain_takes_nothing_that_the_parser_or_the_search_for_secrets_refuses)
{
    struct writer w = {0};
    size_t taken = 0, secrets = 0, refused = 0;
    virtual_world_init(&w.dice, 0, 1);
    for (int i = 0; i < 20000; i++) {
        w.text = buf_new(test_arena(), 1 << 16);
        write_value(&w, 4);
        struct str text = buf_str(&w.text);
        if (roll(&w, 2))
            text = spoil(&w, text);
        bool is_plain = plain(text), is_json = parses(text);
        expect(!is_plain || is_json, PLACE(text.s));
        bool looks_clean = is_plain && json_plain(text, secret_key_plain) && !secret_possible(text);
        expect(!looks_clean || !has_secret(text), PLACE(text.s));
        taken += is_plain;
        refused += !is_json;
        secrets += is_plain && !looks_clean;
    }
    EXPECT(taken > 2000 && refused > 2000 && secrets > 500);
}

// ----- reading

// As jansson reads it, to the order of keys and the kind of numbers.
static void expect_same(struct str text)
{
    SCOPED(json) json_t *quick = json_plain_value(text);
    SCOPED(json) json_t *slow = json_loadb(text.s, text.n, JSON_REJECT_DUPLICATES, NULL);
    if (!quick)
        return;
    expect(json_equal(quick, slow), PLACE(text.s));
    expect(str_eq(json_text(test_arena(), quick), json_text(test_arena(), slow)), PLACE(text.s));
}

// In a block of its own size, so that a tool that watches memory sees who reads past it.
static struct str boxed(struct str text)
{
    char *copy = malloc(text.n > 0 ? text.n : 1);
    memcpy(copy, text.s, text.n);
    return (struct str){ copy, text.n };
}

TEST(json_plain_value_is_what_the_parser_makes_of_it)
{
    struct writer w = {0};
    size_t read = 0;
    virtual_world_init(&w.dice, 0, 2);
    for (int i = 0; i < 20000; i++) {
        w.text = buf_new(test_arena(), 1 << 16);
        write_value(&w, 4);
        struct str text = buf_str(&w.text);
        text = boxed(roll(&w, 4) ? text : spoil(&w, text));
        SCOPED(json) json_t *value = json_plain_value(text);
        read += value != NULL;
        expect_same(text);
        free((char *)(uintptr_t)text.s);
    }
    EXPECT(read > 1000);
}

TEST(json_plain_value_reads_numbers_exactly)
{
    static const char *const numbers[] = { "0", "-0", "-0.0", "0.1", "12.50",
                                           "-123.456", "0.00000000000001", "999999999999999",
                                           "99999999999999.9", "1.7976931348623",
                                           "-0.30000000000000" };
    for (size_t i = 0; i < countof(numbers); i++) {
        struct str text = str_format(test_arena(), "[ %s ,{ \"a\" : %s}]", numbers[i], numbers[i]);
        SCOPED(json) json_t *value = json_plain_value(text);
        expect(value != NULL, PLACE(text.s));
        expect_same(text);
    }
}

TEST(json_plain_value_reads_past_blanks_of_every_kind)
{
    struct str text = S("{\r\n\t\"a\"\r\n\t:\r\n\t[\r\n\t1\r\n\t,\r\n\t{\t}\r]\n}");
    SCOPED(json) json_t *value = json_plain_value(text);
    EXPECT(value != NULL);
    EXPECT_STR(json_text(test_arena(), value), "{\"a\":[1,{}]}");
    expect_same(text);
}

TEST(json_plain_value_leaves_the_rest_to_the_parser)
{
    static const char *const texts[] = { "", "1", "\"a\"", " {}", "{\"a\":\"\\n\"}", "{", "[1,]",
                                         "{\"a\":1,\"a\":2}", "[1e3]", "{}x" };
    for (size_t i = 0; i < countof(texts); i++)
        expect(!json_plain_value(str_of(texts[i])), PLACE(texts[i]));
}
