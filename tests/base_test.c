// The ground everything stands on: text, arenas, errors, hashes.

#include "test.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/guess.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/world.h"
#include "rehearsal.h"

static const struct str nothing = { NULL, 0 };

TEST(text_without_a_pointer_is_the_empty_text)
{
    struct str head, tail;
    int64_t number;
    EXPECT(str_eq(str_of(NULL), S("")));
    EXPECT(str_eq(nothing, S("")));
    EXPECT(!str_eq(nothing, S("a")));
    EXPECT(str_starts(nothing, nothing) && str_ends(nothing, nothing));
    EXPECT(str_starts(S("a"), nothing) && str_ends(S("a"), nothing));
    EXPECT(!str_starts(nothing, S("a")) && !str_ends(nothing, S("a")));
    EXPECT(!str_cut(nothing, ',', &head, &tail) && head.n == 0 && tail.n == 0);
    EXPECT(!str_int(nothing, &number));
    EXPECT(utf8_valid(nothing));
    EXPECT_STR(str_dup(test_arena(), nothing), "");
    EXPECT_INT(strlen(str_cstr(test_arena(), nothing)), 0);
}

TEST(text_is_compared_by_length_and_bytes)
{
    EXPECT(str_eq(S("a\0b"), S("a\0b")));
    EXPECT(!str_eq(S("a\0b"), S("a\0c")));
    EXPECT(!str_eq(S("ab"), S("abc")));
    EXPECT(str_starts(S("job.created"), S("job.")));
    EXPECT(!str_starts(S("job"), S("job.")));
    EXPECT(str_ends(S("jobs.sql"), S(".sql")));
    EXPECT(!str_ends(S("sql"), S(".sql")));
}

TEST(text_is_copied_with_a_NUL_after_it)
{
    char source[] = "abc";
    struct str copy = str_dup(test_arena(), (struct str){ source, 2 });
    source[0] = 'x';
    EXPECT_STR(copy, "ab");
    EXPECT_INT(copy.s[2], '\0');
}

TEST(text_is_formatted_at_any_length)
{
    struct str text = str_format(test_arena(), "%.*s-%05d", STR(S("job")), 42);
    EXPECT_STR(text, "job-00042");
    EXPECT_INT(str_format(test_arena(), "%10000d", 1).n, 10000);
    EXPECT_STR(str_format(test_arena(), "%s", ""), "");
}

TEST(text_is_cut_at_the_first_mark)
{
    struct str head, tail;
    EXPECT(str_cut(S("a:b:c"), ':', &head, &tail));
    EXPECT_STR(head, "a");
    EXPECT_STR(tail, "b:c");
    EXPECT(str_cut(S(":"), ':', &head, &tail) && head.n == 0 && tail.n == 0);
    EXPECT(!str_cut(S("abc"), ':', &head, &tail));
    EXPECT_STR(head, "abc");
    EXPECT_STR(tail, "");
}

TEST(text_is_cut_piece_by_piece_in_place)
{
    struct str rest = S("a,b,c"), piece;
    int pieces = 1;
    while (str_cut(rest, ',', &piece, &rest))
        pieces++;
    EXPECT_INT(pieces, 3);
    EXPECT_STR(piece, "c");
}

TEST(numbers_are_read_to_the_last_one_that_fits)
{
    static const struct { const char *text; int64_t number; } good[] = {
        { "0", 0 }, { "-0", 0 }, { "7", 7 }, { "-7", -7 }, { "007", 7 },
        { "9223372036854775807", INT64_MAX }, { "-9223372036854775808", INT64_MIN },
    };
    static const char *const bad[] = {
        "", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "--1", "a", "1a",
        "9223372036854775808", "-9223372036854775809", "92233720368547758070",
    };
    int64_t number = 0;
    for (size_t i = 0; i < countof(good); i++) {
        expect(str_int(str_of(good[i].text), &number), PLACE(good[i].text));
        expect_int(number, good[i].number, PLACE(good[i].text));
    }
    for (size_t i = 0; i < countof(bad); i++)
        expect(!str_int(str_of(bad[i]), &number), PLACE(bad[i]));
}

TEST(utf8_is_taken_at_the_edges_of_every_length)
{
    static const char *const good[] = {
        "\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
        "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z",
    };
    for (size_t i = 0; i < countof(good); i++)
        expect(utf8_valid(str_of(good[i])), PLACE(good[i]));
    EXPECT(utf8_valid(S("a\0b")));
}

TEST(utf8_is_refused_in_every_broken_form)
{
    static const char *const bad[] = {
        "\x80", "\xbf", "a\x80",                           // a continuation with no beginning
        "\xc0\x80", "\xc1\xbf",                            // two bytes for one
        "\xe0\x80\x80", "\xe0\x9f\xbf",                    // three bytes for two
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",            // four bytes for three
        "\xed\xa0\x80", "\xed\xbf\xbf",                    // surrogates
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",    // above U+10FFFF
        "\xf8\x88\x80\x80\x80", "\xfe",                    // five bytes, never a byte
        "\xc3", "\xe2\x82", "\xe2", "\xf0\x9f\x98", "\xf0\x9f", "\xf0",  // cut short
        "\xc3(", "\xe2(\xa1", "\xe2\x82(", "\xf0(\x98\x80", "\xf0\x9f(\x80", "\xf0\x9f\x98(",
    };
    for (size_t i = 0; i < countof(bad); i++)
        expect(!utf8_valid(str_of(bad[i])), PLACE("a broken form is refused"));
    EXPECT_INT(utf8_step(nothing), 0);
}

TEST(a_name_is_guessed_unless_it_is_too_long_to_be_meant)
{
    static const char name[] = "a_name_that_has_more_letters_than_anybody_types";
    struct guess guess = {0};
    guess_try(&guess, S("emial"), "email");
    EXPECT_STR(str_of(guess.name), "email");
    guess = (struct guess){0};
    guess_try(&guess, S("a_name_that_has_more_letters"), name);
    guess_try(&guess, str_of(name), "a_name_that_has_more_letters");
    EXPECT(!guess.name);
}

TEST(a_buffer_grows_to_its_maximum_and_no_further)
{
    struct buf buf = buf_new(test_arena(), 1000);
    for (int i = 0; i < 1000; i++)
        buf_add_char(&buf, 'x');
    EXPECT(!buf.full);
    EXPECT_INT(buf_str(&buf).n, 1000);
    buf_add_char(&buf, 'y');
    EXPECT(buf.full);
    EXPECT_INT(buf_str(&buf).n, 1000);
}

TEST(a_buffer_keeps_a_beginning_and_never_a_text_with_a_hole)
{
    struct buf buf = buf_new(test_arena(), 5);
    buf_add(&buf, S("abc"));
    buf_addf(&buf, "%d", 12345);
    buf_add(&buf, S("d"));
    EXPECT(buf.full);
    EXPECT_STR(buf_str(&buf), "abc");
}

TEST(a_buffer_that_expects_much_has_room_at_once_and_takes_no_more_than_its_maximum)
{
    struct buf buf = buf_new(test_arena(), 100);
    buf_expect(&buf, 80);
    const char *at = buf.s;
    for (int i = 0; i < 8; i++)
        buf_add(&buf, S("0123456789"));
    EXPECT(buf.s == at && !buf.full);
    buf_expect(&buf, SIZE_MAX);
    EXPECT(!buf.full);
    EXPECT_INT(buf.n, 80);
    buf_add(&buf, S("0123456789012345678901234567890"));
    EXPECT(buf.full);
    buf_expect(&buf, 1);
    EXPECT_INT(buf.n, 80);
}

TEST(a_buffer_takes_numbers_with_their_zeros)
{
    struct buf buf = buf_new(test_arena(), 100);
    buf_add_int(&buf, 7, 3);
    buf_add_int(&buf, -7, 3);
    buf_add_int(&buf, 1234, 3);
    buf_add_int(&buf, 0, 1);
    EXPECT_STR(buf_str(&buf), "007-00712340");
}

TEST(a_buffer_takes_text_characters_and_formats)
{
    struct buf buf = buf_new(test_arena(), 100000);
    EXPECT_STR(buf_str(&buf), "");
    buf_add(&buf, nothing);
    buf_add(&buf, S("a"));
    buf_addf(&buf, "%s%d", "b", 2);
    buf_add_char(&buf, '\0');
    EXPECT_STR(buf_str(&buf), "ab2\0");
    buf_addf(&buf, "%5000d", 7);
    EXPECT_INT(buf_str(&buf).n, 5004);
    EXPECT_INT(buf.s[buf.n], '\0');
    EXPECT_INT(buf.s[buf.n - 1], '7');
}

TEST(a_buffer_of_no_bytes_takes_nothing)
{
    struct buf buf = buf_new(test_arena(), 0);
    buf_add(&buf, nothing);
    EXPECT(!buf.full);
    buf_add_char(&buf, 'a');
    EXPECT(buf.full);
    EXPECT_STR(buf_str(&buf), "");
}

static bool all_zero(const unsigned char *memory, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (memory[i] != 0)
            return false;
    }
    return true;
}

TEST(an_arena_gives_memory_that_is_zeroed_and_aligned)
{
    struct virtual_world dice;
    SCOPED(arena) struct arena arena = {0};
    virtual_world_init(&dice, 0, 1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++) {
            size_t bytes = world_random(&dice.world) % (i % 100 == 0 ? 100000 : 200);
            unsigned char *memory = arena_alloc(&arena, bytes);
            EXPECT(memory && (uintptr_t)memory % 16 == 0 && all_zero(memory, bytes));
            memset(memory, 0xff, bytes);
        }
        arena_reset(&arena);
    }
    EXPECT(!arena.failed);
}

TEST(an_arena_gives_memory_that_is_apart)
{
    enum { COUNT = 1000 };
    unsigned char *given[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        given[i] = arena_alloc(test_arena(), i);
        memset(given[i], (int)(i % 256), i);
    }
    for (size_t i = 1; i < COUNT; i++)
        EXPECT(given[i][0] == i % 256 && given[i][i - 1] == i % 256);
}

TEST(an_arena_remembers_that_it_failed)
{
    SCOPED(arena) struct arena arena = {0};
    EXPECT(!arena_alloc(&arena, SIZE_MAX));
    EXPECT(arena.failed);
    EXPECT(arena_alloc(&arena, 1));
    EXPECT(arena.failed);
    arena_reset(&arena);
    EXPECT(!arena.failed);
}

TEST(an_arena_refuses_sizes_that_wrap_around)
{
    static const size_t bytes[] = { SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, SIZE_MAX / 2 - 4096 };
    for (size_t i = 0; i < countof(bytes); i++) {
        SCOPED(arena) struct arena arena = {0};
        EXPECT(!arena_alloc(&arena, bytes[i]) && arena.failed);
    }
    SCOPED(arena) struct arena arena = {0};
    EXPECT(!arena_new(&arena, struct problem, SIZE_MAX / sizeof(struct problem) + 2));
    EXPECT(arena.failed);
}

TEST(an_arena_can_be_used_again_after_its_end)
{
    struct arena arena = {0};
    arena_end(&arena);
    EXPECT(!arena_alloc(&arena, SIZE_MAX));
    EXPECT(arena_alloc(&arena, 100));
    arena_end(&arena);
    EXPECT(!arena.failed && !arena.blocks);
    EXPECT(arena_alloc(&arena, 100));
    arena_end(&arena);
}

TEST(an_arena_gives_arrays_of_none_and_of_many)
{
    SCOPED(arena) struct arena arena = {0};
    EXPECT(arena_new(&arena, int64_t, 0));
    int64_t *numbers = arena_new(&arena, int64_t, 1000000);
    EXPECT(numbers && numbers[999999] == 0);
    EXPECT(!arena.failed);
}

TEST(an_arena_that_is_reset_keeps_no_block_of_a_huge_value)
{
    SCOPED(arena) struct arena arena = {0};
    EXPECT(arena_alloc(&arena, 10000));
    arena_reset(&arena);
    EXPECT(arena.blocks);
    EXPECT(arena_alloc(&arena, (size_t)10 << 20));
    arena_reset(&arena);
    EXPECT(!arena.blocks);
}

TEST(text_that_could_not_be_copied_is_empty_and_the_arena_knows)
{
    SCOPED(arena) struct arena arena = {0};
    struct str endless = { "x", SIZE_MAX / 2 };
    EXPECT_STR(str_dup(&arena, endless), "");
    EXPECT(arena.failed);
    arena_end(&arena);
    EXPECT_INT(strlen(str_cstr(&arena, (struct str){ "x", SIZE_MAX })), 0);
    EXPECT(arena.failed);
    arena_end(&arena);
    struct buf buf = buf_new(&arena, SIZE_MAX);
    buf_add(&buf, S("abc"));
    buf_add(&buf, endless);
    EXPECT(buf.full && arena.failed);
    EXPECT_STR(buf_str(&buf), "abc");
}

// A wide character that is none: the C library refuses to write it.
TEST(text_that_could_not_be_formatted_is_empty_and_the_arena_knows)
{
    static const wchar_t none[] = { 0x7fffffff, 0 };
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err = {0};
    EXPECT_STR(str_format(&arena, "%ls", none), "");
    EXPECT(arena.failed);
    arena_end(&arena);
    struct buf buf = buf_new(&arena, SIZE_MAX);
    buf_addf(&buf, "%ls", none);
    EXPECT(buf.full && arena.failed);
    EXPECT_STR(buf_str(&buf), "");
    EXPECT_REFUSED(PAWL_STORE, fail(&err, PAWL_STORE, "%ls", none));
    EXPECT_STR(str_of(err.message), "");
}

TEST(a_list_has_room_or_says_that_there_is_no_memory)
{
    SCOPED(arena) struct arena arena = {0};
    struct list list = list_of(&arena, sizeof(int64_t));
    EXPECT(list_add(&list));
    EXPECT(list_room(&list, 7) && list.capacity == 8);
    EXPECT(list_room(&list, 8) && list.capacity == 9);
    EXPECT(!arena.failed);
    EXPECT(!list_room(&list, SIZE_MAX / 4) && arena.failed);
    EXPECT(!list_room(&list, SIZE_MAX));
    EXPECT_INT(list.count, 1);
}

TEST(every_code_has_a_word_of_its_own_and_statuses_that_exist)
{
    for (enum pawl_code code = 0; code < PAWL_CODES; code++) {
        const struct pawl_code_row *row = pawl_code(code);
        EXPECT(row->word && row->word[0]);
        EXPECT(code == PAWL_OK ? row->http == 200 : row->http >= 400 && row->http < 600);
        EXPECT(code == PAWL_OK ? row->exit == 0 : row->exit >= 1 && row->exit <= 5);
        bool callers_doing = row->http >= 400 && row->http < 500;
        EXPECT(row->refusal == (callers_doing || code == PAWL_DAMAGED || code == PAWL_QUEUE_FULL));
        for (enum pawl_code other = 0; other < code; other++)
            EXPECT(strcmp(row->word, pawl_code(other)->word) != 0);
    }
}

TEST(an_error_is_filled_in_one_statement)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_FENCED, fail(&err, PAWL_FENCED, "attempt %d is over", 2));
    EXPECT_STR(str_of(err.message), "attempt 2 is over");
    EXPECT(!fail(NULL, PAWL_STORE, "nobody listens"));
}

TEST(an_error_may_quote_the_one_before_it)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_STORE, fail(&err, PAWL_STORE, "disk on fire"));
    EXPECT_REFUSED(PAWL_BUSY, fail(&err, PAWL_BUSY, "try again: %s", err.message));
    EXPECT_STR(str_of(err.message), "try again: disk on fire");
}

TEST(an_error_message_is_one_line_of_valid_utf8)
{
    struct pawl_error err = {0};
    EXPECT(!fail(&err, PAWL_INVALID, "no job `%s`", "a\nb\r\x1b[31m\xff.\xc3(\x7f\xc3\xa9"));
    EXPECT_STR(str_of(err.message), "no job `a b  [31m?.?( \xc3\xa9`");
    EXPECT(!fail(&err, PAWL_INVALID, "x\xc2\x85y\xc2\x9fz\xc2\xa0\xe2\x82\xac"));
    EXPECT_STR(str_of(err.message), "x  y  z\xc2\xa0\xe2\x82\xac");
}

TEST(an_error_message_is_cut_between_characters)
{
    struct pawl_error err = {0};
    for (int before = 505; before < 512; before++) {
        EXPECT(!fail(&err, PAWL_INVALID, "%0*d\xf0\x9f\x98\x80\xf0\x9f\x98\x80", before, 0));
        EXPECT(utf8_valid(str_of(err.message)));
        EXPECT_INT(strlen(err.message), before <= 507 ? before + 4 : before);
    }
}

// Only a character that the cut has broken goes; a byte that was wrong before is shown as such.
TEST(an_error_message_that_is_cut_keeps_a_place_for_what_was_no_character)
{
    struct pawl_error err = {0};
    EXPECT(!fail(&err, PAWL_INVALID, "\xff%0*d\xc3\xa9", 509, 0));
    EXPECT_INT(strlen(err.message), 510);
    EXPECT(err.message[0] == '?');
    EXPECT(!fail(&err, PAWL_INVALID, "%0*d\x80%s", 510, 0, "more"));
    EXPECT_INT(strlen(err.message), 511);
    EXPECT(err.message[510] == '?');
}

TEST(OPS_1_every_problem_is_named_in_one_line)
{
    struct pawl_error err = {0};
    struct problems problems = { .arena = test_arena() };
    EXPECT(problems_none(&problems, &err));
    problem_add(&problems, "org_id", "is missing");
    problem_add(&problems, "payload", "is %s, not an object", "an array");
    problem_add(&problems, "", "is too large");
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    EXPECT_STR(str_of(err.message),
               "org_id: is missing; payload: is an array, not an object; is too large");
    EXPECT_STR(problems.list[0].field, "org_id");
    EXPECT_STR(problems.list[1].message, "is an array, not an object");
}

TEST(OPS_1_a_field_that_could_not_be_read_is_not_named_again)
{
    struct pawl_error err = {0};
    struct problems problems = { .arena = test_arena() };
    problem_add(&problems, "a", "is no number");
    problem_add(&problems, "a", "is missing");
    problem_add(&problems, "b", "is missing");
    problems_once(&problems, 1);
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    EXPECT_STR(str_of(err.message), "a: is no number; b: is missing");
}

TEST(OPS_1_problems_that_have_no_room_are_counted)
{
    struct pawl_error err = {0};
    struct problems problems = { .arena = test_arena() };
    for (int i = 0; i < 40; i++)
        problem_add(&problems, "field", "problem number %02d", i);
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    struct str message = str_of(err.message);
    EXPECT(str_starts(message, S("field: problem number 00; field: problem number 01; ")));
    EXPECT(str_ends(message, S("; field: problem number 17; and 22 more")));
}

TEST(OPS_1_more_problems_than_are_kept_are_mentioned)
{
    struct pawl_error err = {0};
    struct problems problems = { .arena = test_arena() };
    for (int i = 0; i < PROBLEMS_MAX + 50; i++)
        problem_add(&problems, "f", "p");
    EXPECT_INT(problems.count, PROBLEMS_MAX);
    EXPECT_INT(problems.left_out, 50);
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    EXPECT(str_starts(str_of(err.message), S("f: p; f: p; ")));
    EXPECT(str_ends(str_of(err.message), S("; and 68 more")));
}

TEST(OPS_1_without_memory_there_still_is_a_problem)
{
    struct pawl_error err = {0};
    struct problems problems = { .arena = test_arena() };
    rehearsal_arenas(1);
    problem_add(&problems, "a", "is missing");
    EXPECT(rehearsal_calm());
    problem_add(&problems, "b", "is missing");
    problems_once(&problems, 0);
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    EXPECT_STR(str_of(err.message),
               "is not as it must be; there is no memory to say more; and 1 more");
    problems_forget(&problems);
    EXPECT(problems_none(&problems, &err));
    problem_add(&problems, "b", "is missing");
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
    EXPECT_STR(str_of(err.message), "b: is missing");
}

TEST(OPS_1_a_long_problem_does_not_hide_the_next)
{
    for (int length = 470; length < 560; length++) {
        struct pawl_error err = {0};
        struct problems problems = { .arena = test_arena() };
        problem_add(&problems, "a", "%*s", length, "x");
        problem_add(&problems, "b", "y");
        EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
        EXPECT(str_ends(str_of(err.message), S("; b: y")));
        EXPECT(str_ends(str_of(err.message), S("x; b: y")) == (length <= 488));
    }
}

TEST(a_name_is_the_first_half_of_sha256)
{
    EXPECT_STR(hash_name(test_arena(), S("")), "e3b0c44298fc1c149afbf4c8996fb924");
    EXPECT_STR(hash_name(test_arena(), nothing), "e3b0c44298fc1c149afbf4c8996fb924");
    EXPECT_STR(hash_name(test_arena(), S("abc")), "ba7816bf8f01cfea414140de5dae2223");
}

static int64_t short_of(const uint8_t *secret, struct str a, struct str b, struct str c)
{
    return hash_short(secret, (struct str[]){ a, b, c }, 3);
}

// Made by another implementation: the numbers are kept in stores and must never change.
TEST(a_short_hash_is_the_same_for_ever)
{
    static const uint8_t secret[HASH_SECRET_BYTES] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    };
    EXPECT_INT(short_of(secret, S("org"), nothing, S("key")), INT64_C(2766489161538885145));
    EXPECT_INT(hash_short(secret, NULL, 0), INT64_C(8246050544436514353));
    EXPECT_INT(hash_short(secret, &nothing, 1), INT64_C(8249223695575966349));
}

TEST(a_short_hash_depends_on_the_secret_and_on_where_parts_end)
{
    static const uint8_t secret[HASH_SECRET_BYTES] = { 1 }, other[HASH_SECRET_BYTES] = { 2 };
    struct str a = S("a"), ab = S("ab"), b = S("b"), bc = S("bc"), c = S("c");
    EXPECT(short_of(secret, a, bc, nothing) != short_of(secret, ab, c, nothing));
    EXPECT(short_of(secret, a, b, nothing) != short_of(secret, a, nothing, b));
    EXPECT(short_of(secret, a, b, c) != short_of(other, a, b, c));
    EXPECT(short_of(secret, a, b, c) == short_of(secret, a, b, c));
}

TEST(a_short_hash_is_not_negative)
{
    static const uint8_t secret[HASH_SECRET_BYTES] = { 3 };
    char text[32];
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof(text), "%d", i);
        struct str part = str_of(text);
        EXPECT(hash_short(secret, &part, 1) >= 0);
    }
}
