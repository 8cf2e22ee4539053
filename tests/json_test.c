// JSON in and out: what is refused and with which words, what is kept, how numbers are written.

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_put.h"
#include "base/world.h"

static const size_t bytes_max = (size_t)1 << 20;

static json_t *must_parse(struct str text)
{
    struct pawl_error err;
    json_t *value = NULL;
    expect_done(json_parse(text, bytes_max, &value, &err), &err, PLACE(text.s));
    return value;
}

static struct str text_of(struct str text)
{
    SCOPED(json) json_t *value = must_parse(text);
    return json_text(test_arena(), value);
}

static struct str canonical_of(struct str text)
{
    SCOPED(json) json_t *value = must_parse(text);
    return json_canonical(test_arena(), value);
}

static struct str refusal_of(struct str text)
{
    struct pawl_error err;
    json_t *value = NULL;
    expect_refused(json_parse(text, bytes_max, &value, &err), PAWL_INVALID, &err, PLACE(text.s));
    EXPECT(!value);
    return str_dup(test_arena(), str_of(err.message));
}

#define REJECTS(text, message) EXPECT_STR(refusal_of(S(text)), message)
#define WRITES(text, literal) EXPECT_STR(text_of(S(text)), literal)
#define CANON(text, literal) EXPECT_STR(canonical_of(S(text)), literal)

TEST(json_refuses_a_duplicate_key_with_its_place)
{
    REJECTS("{\"a\":1,\n \"b\":{\"c\":2,\"c\":3}}",
            "JSON line 2 column 15: this key is already in the object: each "
            "may be there once");
    REJECTS("{\"a\":1,\"\\u0061\":1}",
            "JSON line 1 column 15: this key is already in the object: each "
            "may be there once");
}

TEST(json_refuses_nothing_at_all)
{
    REJECTS("", "JSON line 1 column 0: the text is empty");
    REJECTS(" \t\r\n ", "JSON line 1 column 0: the text is empty");
    EXPECT_STR(refusal_of((struct str){ NULL, 0 }), "JSON line 1 column 0: the text is empty");
}

TEST(json_refuses_a_byte_order_mark)
{
    REJECTS("\xef\xbb\xbf{}",
            "JSON line 1 column 1: a byte order mark is not allowed, only plain UTF-8");
}

TEST(json_refuses_a_value_that_does_not_end)
{
    static const char *const unfinished[] = {
        "{", "[", "[1", "[1,", "{\"a\"", "{\"a\":", "\"a", "\"\\",
    };
    for (size_t i = 0; i < countof(unfinished); i++)
        expect(str_starts(refusal_of(str_of(unfinished[i])), S("JSON line 1 column ")),
               PLACE(unfinished[i]));
    REJECTS("\"a", "JSON line 1 column 2: the text ends before the value does");
}

TEST(json_refuses_what_is_not_json)
{
    static const char *const bad[] = {
        "nul", "True", "undefined", "NaN", "Infinity", "-Infinity", "'a'", "a", "01", "+1", "1.",
        ".5", "1e", "1e+", "0x1", "-", "--1", "[1,]", "[,1]", "[1 2]", "{\"a\":1,}", "{a:1}",
        "{1:1}", "{\"a\" 1}", "{\"a\":}", "]", "}", "[}", "\"\t\"", "\"\n\"", "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"",
        "// a\n1", "1 /* a */", "[1]]", "{}{}", "1 2", "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(str_starts(refusal_of(str_of(bad[i])), S("JSON line ")), PLACE(bad[i]));
    REJECTS("{\"a\":1} x", "JSON line 1 column 9: there is more after the value");
}

TEST(json_refuses_bad_utf8)
{
    REJECTS("[\"a\xff\"]", "JSON line 1 column 3: the text is not valid UTF-8");
    static const char *const bad[] = {
        "\"\x80\"", "\"\xc0\x80\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"", "\"\xc3\"", "\"\xf0\x9f\x98\"", "\xff", "{\"\xff\":1}",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(str_ends(refusal_of(str_of(bad[i])), S("the text is not valid UTF-8")),
               PLACE("the text is not valid UTF-8"));
}

TEST(json_refuses_half_a_surrogate_pair)
{
    static const char *const bad[] = {
        "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\\ud800x\"", "\"\\udc00\\ud800\"",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(str_starts(refusal_of(str_of(bad[i])), S("JSON line 1 column ")), PLACE(bad[i]));
}

TEST(json_refuses_nul_characters)
{
    REJECTS("\"a\\u0000b\"", "JSON line 1 column 10: a NUL character is not allowed");
    REJECTS("{\"a\\u0000b\":1}", "JSON line 1 column 11: a NUL character is not allowed in a key");
    REJECTS("\"a\0b\"", "JSON line 1 column 3: a NUL character is not allowed");
    REJECTS("[1,\n1]\0", "JSON line 2 column 3: a NUL character is not allowed");
    REJECTS("\0", "JSON line 1 column 1: a NUL character is not allowed");
    EXPECT(str_starts(refusal_of(S("\"\\\0\"")), S("JSON line 1 column ")));
}

TEST(json_refuses_numbers_out_of_range)
{
    static const char *const bad[] = {
        "9223372036854775808", "-9223372036854775809", "100000000000000000000", "1e309", "-1e309",
        "1.7976931348623159e308",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(str_ends(refusal_of(str_of(bad[i])),
                        S(": the number is out of range: 64 bits if whole, else a double")),
               PLACE(bad[i]));
}

TEST(json_does_not_repeat_what_it_refuses)
{
    static const char *const secrets[] = {
        "{\"k\":hunter2}", "[\"hunter2\" \"hunter2\"]", "hunter2", "{\"k\":\"\\u0000hunter2\"}",
        "\"hunter2", "{\"k\":\"hunter2\",\"k\":1}", "\"hunter2\\x\"", "[\"hunter2\"]]",
    };
    for (size_t i = 0; i < countof(secrets); i++)
        expect(!strstr(refusal_of(str_of(secrets[i])).s, "hunter2"), PLACE(secrets[i]));
}

static struct str nested(size_t depth, const char *open, const char *close)
{
    struct buf buf = buf_new(test_arena(), 16 * bytes_max);
    for (size_t i = 0; i < depth; i++)
        buf_add(&buf, str_of(open));
    buf_add(&buf, S("1"));
    for (size_t i = 0; i < depth; i++)
        buf_add(&buf, str_of(close));
    return buf_str(&buf);
}

TEST(json_refuses_nesting_beyond_its_depth)
{
    struct str arrays = nested(JSON_DEPTH_MAX, "[", "]");
    struct str objects = nested(JSON_DEPTH_MAX, "{\"a\":", "}");
    expect_str(text_of(arrays), arrays, PLACE("32 arrays"));
    expect_str(text_of(objects), objects, PLACE("32 objects"));
    EXPECT_STR(refusal_of(nested(JSON_DEPTH_MAX + 1, "[", "]")),
               "JSON line 1 column 33: nested too deeply, at most 32 levels are allowed");
    EXPECT_STR(refusal_of(nested(JSON_DEPTH_MAX + 1, "{\"\xc3\xa9\":\n", "}")),
               "JSON line 33 column 1: nested too deeply, at most 32 levels are allowed");
}

TEST(json_counts_no_brackets_inside_strings)
{
    WRITES("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]",
           "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]");
    WRITES("[\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\\\",[]]",
           "[\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\\\",[]]");
}

TEST(json_refuses_ten_megabytes_of_brackets_at_once)
{
    struct pawl_error err;
    json_t *value;
    struct str text = nested(10 * bytes_max, "[", "");
    EXPECT_REFUSED(PAWL_INVALID, json_parse(text, text.n, &value, &err));
    EXPECT_STR(str_of(err.message),
               "JSON line 1 column 33: nested too deeply, at most 32 levels are allowed");
}

TEST(json_refuses_text_over_the_size)
{
    struct pawl_error err;
    SCOPED(json) json_t *value = NULL;
    MUST(json_parse(S("[1,2]"), 5, &value, &err));
    json_end(&value);
    EXPECT_REFUSED(PAWL_TOO_LARGE, json_parse(S("[1,2] "), 5, &value, &err));
    EXPECT_STR(str_of(err.message), "the JSON text has 6 bytes: at most 5 are allowed");
}

TEST(json_refuses_long_keys_at_any_depth)
{
    struct buf key = buf_new(test_arena(), 1000);
    for (int i = 0; i < JSON_KEY_BYTES_MAX; i++)
        buf_add_char(&key, 'k');
    struct str fits = str_format(test_arena(), "[{\"a\":[{\"%s\":1}]}]", key.s);
    struct str over = str_format(test_arena(), "[{\"a\":[{\"%sk\":1}]}]", key.s);
    expect_str(text_of(fits), fits, PLACE("a key of 256 bytes"));
    EXPECT_STR(refusal_of(over),
               "JSON: the key that starts `kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk` has 257 "
               "bytes: at most 256 are allowed");
}

TEST(json_end_takes_nothing)
{
    json_t *none = NULL;
    json_end(&none);
    EXPECT(!none);
}

TEST(json_text_keeps_the_order_of_keys_and_drops_white_space)
{
    WRITES(" { \"b\" : 1 ,\n\"a\" : [ true, false, null, {} , [] ] } ",
           "{\"b\":1,\"a\":[true,false,null,{},[]]}");
    WRITES("null", "null");
    WRITES("\"\"", "\"\"");
}

TEST(json_text_keeps_whole_numbers_and_the_difference_to_reals)
{
    WRITES("[1,1.0,-1,-1.0,0,0.0,-0.0,100,1e2]", "[1,1.0,-1,-1.0,0,0.0,-0.0,100,100.0]");
    WRITES("[9223372036854775807,-9223372036854775808,9007199254740993]",
           "[9223372036854775807,-9223372036854775808,9007199254740993]");
    WRITES("[1e20,1e21,1.5e300]", "[100000000000000000000.0,1e+21,1.5e+300]");
}

TEST(json_canonical_writes_numbers_as_ecmascript_does)
{
    CANON("[1.0,-1.0,0.0,-0.0,-0,100.0,1e2,12.50]", "[1,-1,0,0,0,100,100,12.5]");
    CANON("[1e20,123456789012345678900.0,1e21,-1e21]",
          "[100000000000000000000,123456789012345680000,1e+21,-1e+21]");
    CANON("[0.1,0.000001,0.0000012,1e-7,1.5e-7,-1e-7]",
          "[0.1,0.000001,0.0000012,1e-7,1.5e-7,-1e-7]");
    CANON("[5e-324,2.2250738585072014e-308,1.7976931348623157e308,1e-400]",
          "[5e-324,2.2250738585072014e-308,1.7976931348623157e+308,0]");
    CANON("[333333333.33333329,1e30,4.50,2e-3,0.000000000000000000000000001]",  // of RFC 8785
          "[333333333.3333333,1e+30,4.5,0.002,1e-27]");
    CANON("[9007199254740992.0,9007199254740993,9007199254740994.0]",
          "[9007199254740992,9007199254740993,9007199254740994]");
}

// For these the nearest decimal of 16 digits does not read back, but another one does.
TEST(json_writes_the_shortest_form_also_of_powers_of_two)
{
    CANON("[5.684341886080802e-14,9.5367431640625e-7,1.1754943508222875e-38]",
          "[5.684341886080802e-14,9.5367431640625e-7,1.1754943508222875e-38]");
    CANON("[9.8607613152626476e-32]", "[9.860761315262648e-32]");
}

static double random_double(struct virtual_world *dice)
{
    double number;
    do {
        uint64_t bits = world_random(&dice->world);
        memcpy(&number, &bits, sizeof(number));
    } while (!isfinite(number));
    return number;
}

TEST(json_text_of_random_reals_reads_back_equal)
{
    struct virtual_world dice;
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err;
    virtual_world_init(&dice, 0, 1);
    for (int i = 0; i < 100000; i++) {
        double number = random_double(&dice);
        if (i % 2)  // also such as people write
            number = trunc(fmod(number, 1e9)) / 1000;
        SCOPED(json) json_t *value = json_real(number), *again = NULL;
        MUST(json_parse(json_text(&arena, value), bytes_max, &again, &err));
        EXPECT(json_is_real(again));
        EXPECT(json_real_value(again) == number);
        EXPECT(signbit(json_real_value(again)) == signbit(number));
        EXPECT(strtod(json_canonical(&arena, value).s, NULL) == number);
        arena_reset(&arena);
    }
}

TEST(json_text_of_random_whole_numbers_reads_back_equal)
{
    struct virtual_world dice;
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err;
    virtual_world_init(&dice, 0, 1);
    for (int i = 0; i < 10000; i++) {
        int64_t number = (int64_t)(world_random(&dice.world) >> (i % 64));
        SCOPED(json) json_t *value = json_integer(number), *again = NULL;
        MUST(json_parse(json_text(&arena, value), bytes_max, &again, &err));
        EXPECT(json_equal(value, again));
        EXPECT(str_eq(json_text(&arena, value), json_canonical(&arena, value)));
        arena_reset(&arena);
    }
}

TEST(json_strings_are_escaped_only_where_they_must_be)
{
    CANON("\"\\b\\t\\n\\f\\r\\\"\\\\\\/\"", "\"\\b\\t\\n\\f\\r\\\"\\\\/\"");
    CANON("\"\\u0001\\u000b\\u001F\\u007f\"", "\"\\u0001\\u000b\\u001f\x7f\"");
    CANON("\"\\u00e9\\u2028\\u20ac\\ud83d\\ude00\"",
          "\"\xc3\xa9\xe2\x80\xa8\xe2\x82\xac\xf0\x9f\x98\x80\"");
    CANON("{\"\\n\\u0002\\\"\":\"</script>\"}", "{\"\\n\\u0002\\\"\":\"</script>\"}");
    WRITES("\"a\\nb\"", "\"a\\nb\"");
}

TEST(json_canonical_sorts_keys_by_utf16)
{
    CANON("{\"b\":1,\"a\":2,\"aa\":3,\"B\":4,\"\":5,\"\\n\":6}",
          "{\"\":5,\"\\n\":6,\"B\":4,\"a\":2,\"aa\":3,\"b\":1}");
    // U+1F600 is d83d de00 and comes before U+E000 and U+FFFD, after U+D7FF.
    CANON("{\"\\ufffd\":1,\"\\ue000\":2,\"\\ud83d\\ude00\":3,\"\\ud7ff\":4,\"\\u00e9\":5,\"z\":6}",
          "{\"z\":6,\"\xc3\xa9\":5,\"\xed\x9f\xbf\":4,\"\xf0\x9f\x98\x80\":3,\"\xee\x80\x80\":2,"
          "\"\xef\xbf\xbd\":1}");
    CANON("{\"x\\ue000\":1,\"x\\ud83d\\ude00\":2,\"x\":3}",
          "{\"x\":3,\"x\xf0\x9f\x98\x80\":2,\"x\xee\x80\x80\":1}");
    CANON("{\"b\":{\"d\":[{\"f\":1,\"e\":2}],\"c\":3},\"a\":4}",
          "{\"a\":4,\"b\":{\"c\":3,\"d\":[{\"e\":2,\"f\":1}]}}");
}

TEST(json_canonical_sorts_many_keys_that_came_in_any_order)
{
    struct virtual_world dice;
    SCOPED(json) json_t *object = json_object();
    virtual_world_init(&dice, 0, 1);
    for (int i = 0; i < 1000; i++) {
        struct str key = str_format(test_arena(), "%04d", (int)(world_random(&dice.world) % 10000));
        json_object_set_new(object, key.s, json_integer(1));
    }
    struct str text = json_canonical(test_arena(), object);
    EXPECT_INT(text.n, 1 + json_object_size(object) * 9);  // {"0000":1,"0001":1}
    for (size_t i = 2; i + 9 < text.n; i += 9)
        EXPECT(memcmp(text.s + i, text.s + i + 9, 4) < 0);
}

static int allocations_left;

static void *malloc_until_none_left(size_t bytes)
{
    return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

// Inside a string jansson takes a lack of memory for a bad token; it is a refusal all the same.
TEST(json_that_has_no_memory_is_refused_wherever_it_ran_out)
{
    struct pawl_error err;
    bool done = false;
    int tries = 0;
    for (; !done; tries++) {
        SCOPED(json) json_t *value = NULL;
        allocations_left = tries;
        json_set_alloc_funcs(malloc_until_none_left, free);
        done = json_parse(S("{\"a\":[1,2.5,\"x\",{\"b\":null}]}"), 100, &value, &err);
        json_set_alloc_funcs(malloc, free);
        EXPECT(done ? value != NULL : !value);
        EXPECT(done || err.code == PAWL_NO_MEMORY || err.code == PAWL_INVALID);
    }
    EXPECT(tries > 10);
}

// ----- written without a value

TEST(json_is_put_together_with_its_commas)
{
    struct buf out = buf_new(test_arena(), bytes_max);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "none", '[');
    json_put_close(&out, ']');
    json_put_open(&out, "some", '[');
    json_put_raw(&out, NULL, S("{\"kept\": [1e2]}"));
    json_put_int(&out, NULL, -7);
    json_put_close(&out, ']');
    json_put_open(&out, "inside", '{');
    json_put_bool(&out, "yes", true);
    json_put_bool(&out, "no", false);
    json_put_close(&out, '}');
    json_put_text(&out, "mark", S("a[{,"));
    json_put_text(&out, "after", S("b"));
    json_put_close(&out, '}');
    EXPECT_STR(buf_str(&out), "{\"none\":[],\"some\":[{\"kept\": [1e2]},-7],"
                              "\"inside\":{\"yes\":true,\"no\":false},"
                              "\"mark\":\"a[{,\",\"after\":\"b\"}");
}

TEST(json_that_is_put_has_null_for_what_there_is_not)
{
    struct buf out = buf_new(test_arena(), bytes_max);
    json_put_open(&out, NULL, '[');
    json_put_text(&out, NULL, S(""));
    json_put_time(&out, NULL, 0);
    json_put_id(&out, NULL, (struct id){ 0, 0 });
    json_put_raw(&out, NULL, S(""));
    json_put_time(&out, NULL, SECONDS(1));
    json_put_id(&out, NULL, (struct id){ 8 << 12, 8 });
    json_put_id(&out, NULL, (struct id){ 0, 8 });
    json_put_close(&out, ']');
    EXPECT_STR(buf_str(&out), "[null,null,null,null,\"1970-01-01T00:00:01.000Z\","
                              "\"00000000-0008-7000-8000-000000000008\","
                              "\"00000000-0000-7000-8000-000000000008\"]");
}

TEST(json_that_is_put_is_the_text_of_its_value)
{
    static const int64_t numbers[] = { 0, 9, 10, -1, INT64_MAX, INT64_MIN };
    struct buf out = buf_new(test_arena(), bytes_max);
    json_put_open(&out, NULL, '[');
    for (size_t i = 0; i < countof(numbers); i++)
        json_put_int(&out, NULL, numbers[i]);
    json_put_text(&out, NULL, S("\"\\/\b\f\n\r\t\x01\x1f\x7f\xe2\x82\xac\xf0\x9f\x98\x80"));
    json_put_close(&out, ']');
    EXPECT(str_eq(text_of(buf_str(&out)), buf_str(&out)));
}

TEST(json_that_is_put_into_too_little_room_says_so)
{
    for (int kind = 0; kind < 3; kind++) {
        struct buf out = buf_new(test_arena(), 8);
        json_put_open(&out, NULL, '{');
        if (kind == 0)
            json_put_text(&out, "name", S("text"));
        if (kind == 1)
            json_put_time(&out, "name", SECONDS(1));
        if (kind == 2)
            json_put_bool(&out, "name", true);
        json_put_close(&out, '}');
        EXPECT(out.full);
        EXPECT_STR(buf_str(&out), "{");
    }
}
