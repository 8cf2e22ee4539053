// Secrets in texts of others are masked, and nothing else is.
#include <string.h>

#include "test.h"

#include "base/text.h"
#include "model/redact.h"

TEST(OPS_12_secrets_in_texts_are_masked)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        { "password=hunter2", "password=***" },
        { "PASSWORD: hunter2, next", "PASSWORD: ***, next" },
        { "{\"db_password\": \"a b\\\"c\", \"x\": 1}", "{\"db_password\": \"***\", \"x\": 1}" },
        { "SMTP_PASSWORD=x HOME=/", "SMTP_PASSWORD=*** HOME=/" },
        { "?api_key=abc&page=2", "?api_key=***&page=2" },
        { "mysql --password secret1 -u me", "mysql --password *** -u me" },
        { "token=abcdefgh", "token=***" },
        { "Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***" },
        { "authorization: abc", "authorization: ***" },
        { "sent Bearer eyJhbGciOi.x and went", "sent Bearer *** and went" },
        { "postgres://me:hunter2@db/x", "postgres://me:***@db/x" },
        { "key AKIA0123456789ABCDEF.", "key ***." },
        { "pawl_live_abcd1234_abcdefghijklmnop_1a2b3c4d", "***" },
        { "(ghp_0123456789012345678901234567890123456789)", "(***)" },
        { "-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----\nx", "***\nx" },
        { "-----BEGIN PRIVATE KEY----- MII", "***" },
        { "password=***", "password=***" },
    };
    for (size_t i = 0; i < countof(cases); i++)
        expect_str(redact(test_arena(), str_of(cases[i].text)), str_of(cases[i].clean),
                   PLACE(cases[i].text));
}

TEST(OPS_12_what_is_no_secret_stays_as_it_is)
{
    static const char *const texts[] = {
        "", " ", "=", "password", "wrong password", "the password is wrong", "password_ref=vault:x",
        "Unexpected token: }", "token=1", "Basic rules", "http://host:80/a@b", "a:b@c", "x=1&y=2",
        "ghp_short", "/etc/passwd: Permission denied", "-----BEGIN CERTIFICATE-----",
        "caf\xc3\xa9 \xe2\x82\xac 5",
    };
    for (size_t i = 0; i < countof(texts); i++)
        expect_str(redact(test_arena(), str_of(texts[i])), str_of(texts[i]), PLACE(texts[i]));
}

TEST(OPS_12_values_known_to_be_secret_are_masked_whole)
{
    char *const values[] = {
        (char[]){ "secret1" }, (char[]){ "secret1234" }, (char[]){ "4secret" },
        (char[]){ "line one\nline two\n" }, (char[]){ "short" }, (char[]){ "aaaaaa" }, NULL,
    };
    static const struct {
        const char *text, *clean;
    } cases[] = {
        { "is secret1 it", "is *** it" },
        { "secret1234", "***" },                    // not the tail of the longer one
        { "secret1234secret", "***" },              // nor of one that overlaps it
        { "secret1, secret1234", "***, ***" },
        { "line two, then line one", "***, then ***" },
        { "aaaaaaaaab", "***b" },
        { "short", "short" },
        { "secret", "secret" },
        { "", "" },
    };
    for (size_t i = 0; i < countof(cases); i++)
        expect_str(redact_values(test_arena(), str_of(cases[i].text), values),
                   str_of(cases[i].clean), PLACE(cases[i].text));
    expect_str(redact_values(test_arena(), S("secret1"), NULL), S("secret1"), PLACE("none"));
}

TEST(OPS_12_redacting_any_text_gives_a_bounded_text)
{
    static const char *const pieces[] = {
        "password", "=", ":", " ", "\"", "'", "Bearer ", "cvv=1 ", "://", "@", "x", "\\", "--token",
        "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "_", "\xc3\xa9", "pwd=", "12345678",
    };
    uint64_t dice = 1;
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        struct buf text = buf_new(&arena, 4096);
        for (int i = 0; i < 12; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            buf_add(&text, str_of(pieces[(dice >> 33) % countof(pieces)]));
        }
        struct str clean = redact(&arena, buf_str(&text));
        expect(clean.n <= 2 * text.n && utf8_valid(clean), PLACE(text.s));
        arena_end(&arena);
    }
}

TEST(OPS_7_a_secret_at_the_end_of_an_error_is_not_cut_in_half)
{
    struct str text = S("see ghp_0123456789012345678901234567890123456789");
    EXPECT_STR(redact_error(test_arena(), text, 30), "see ***");
    EXPECT_STR(redact_error(test_arena(), S("bad \xff"), 40), "(an error text that is not UTF-8)");
}
