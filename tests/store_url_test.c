// URLs of stores, and what is shown of them.
#include <string.h>

#include "store/store_url.h"

#include "rehearsal.h"
#include "test.h"

static void expect_shown(const char *url, const char *shown)
{
    expect_str(url_shown(test_arena(), str_of(url)), str_of(shown), PLACE(url));
}

TEST(OPS_11_a_password_is_never_shown)
{
    expect_shown("sqlite:pawl.db", "sqlite:pawl.db");
    expect_shown("postgres://me@host/db", "postgres://me@host/db");
    expect_shown("postgres://me:secret@host:5432/db?a=b", "postgres://me:***@host:5432/db?a=b");
    expect_shown("postgresql://host/db?password=secret&user=me",
                 "postgresql://host/db?password=***&user=me");
    expect_shown("postgres://h/d?sslpassword=secret", "postgres://h/d?sslpassword=***");
    // Marks in it that should have been written otherwise.
    expect_shown("postgres://me:se/cr@et@host/db", "postgres://me:***@host/db");
    expect_shown("postgres://me:sec?ret@host/db", "postgres://me:***@host/db");
    expect_shown("postgres://", "postgres://");
    expect_shown("postgres://?", "postgres://");
}

TEST(the_options_of_a_url_that_are_ours_are_not_for_libpq)
{
    struct server_url parts;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), S("postgres://h/d?schema=x&sslmode=require&files=/var/a"),
                          &parts, &err));
    EXPECT_STR(str_of(parts.connect), "postgres://h/d?sslmode=require");
    EXPECT_STR(str_of(parts.schema), "x");
    EXPECT_STR(str_of(parts.files), "/var/a");
    MUST(server_url_parse(test_arena(), S("postgres:///d"), &parts, &err));
    EXPECT_STR(str_of(parts.connect), "postgres:///d");
    EXPECT_STR(str_of(parts.schema), "pawl");
}

#define LONG_NAME "a123456789b123456789c123456789d123456789e123456789f123456789abc"  // 63 bytes

TEST(a_schema_is_a_plain_name)
{
    static const char *const bad[] = {
        "", "a-b", "a;drop table x", "A", "1a", "pg_temp", "a\"b", "a{", "a`", "a/", "a:",
    };
    static const char *const good[] = { "a", "z_09", "_a", LONG_NAME };
    struct server_url parts;
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(bad); i++) {
        struct str url = str_format(test_arena(), "postgres://h/d?schema=%s", bad[i]);
        EXPECT_REFUSED(PAWL_USAGE, server_url_parse(test_arena(), url, &parts, &err));
    }
    struct str longer = S("postgres://h/d?schema=" LONG_NAME "d");
    EXPECT_REFUSED(PAWL_USAGE, server_url_parse(test_arena(), longer, &parts, &err));
    for (size_t i = 0; i < countof(good); i++) {
        struct str url = str_format(test_arena(), "postgres://h/d?schema=%s", good[i]);
        MUST(server_url_parse(test_arena(), url, &parts, &err));
        EXPECT(strcmp(parts.schema, good[i]) == 0);
    }
    EXPECT_REFUSED(PAWL_USAGE, server_url_parse(test_arena(), S("postgres://h/d?files="), &parts,
                                                &err));
}

TEST(a_pooler_is_one_that_keeps_transactions_whole)
{
    struct server_url parts;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), S("postgres://h/d?pooler=transaction&port=6432"), &parts,
                          &err));
    EXPECT(parts.pooled);
    EXPECT_STR(str_of(parts.connect), "postgres://h/d?port=6432");
    MUST(server_url_parse(test_arena(), S("postgres://h/d?port=6432"), &parts, &err));
    EXPECT(!parts.pooled);
    EXPECT_REFUSED(PAWL_USAGE, server_url_parse(test_arena(), S("postgres://h/d?pooler=statement"),
                                                &parts, &err));
    EXPECT(url_is_pooled(S("postgres://h/d?schema=a&pooler=transaction")));
    EXPECT(!url_is_pooled(S("postgres://h/pooler=transaction")));
    EXPECT(!url_is_pooled(S("sqlite:a?pooler=transaction")));
}

TEST(which_database_a_url_names)
{
    EXPECT(url_names_file(S("sqlite:a")) && !url_names_file(S("sqlite:")));
    EXPECT(!url_names_file(S("sqlite::memory:")) && !url_names_file(S("postgres://h/d")));
    EXPECT(url_names_server(S("postgres://h/d")) && url_names_server(S("postgresql://h/d")));
    EXPECT(!url_names_server(S("postgres:h")) && !url_names_server(S("sqlite:a")));
}

TEST(OPS_9_without_memory_a_url_is_not_read_and_that_is_said)
{
    for (int64_t n = 1;; n++) {
        SCOPED(arena) struct arena arena = {0};
        struct server_url parts;
        struct pawl_error err = {0};
        rehearsal_arenas(n);
        bool done = server_url_parse(&arena, S("postgres://h/d?schema=x"), &parts, &err);
        if (!rehearsal_calm())
            break;
        EXPECT(!done);
        EXPECT_INT(err.code, PAWL_NO_MEMORY);
    }
}
