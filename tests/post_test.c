// Types with an address: what a configuration may say of them, and what an answer means.
#include "server/post.h"

#include <string.h>

#include "config_file.h"
#include "pawl.h"

static void expect_wrong(struct config_file *file, const char *terms, const char *fault)
{
    expect_fault(file, str_format(test_arena(), "job_types:\n  a: {%s}\n", terms).s, fault);
}

TEST(OPS_17_a_type_has_a_command_or_an_address)
{
    static struct config_file file;
    config_file_open(&file);
    config_file_put(&file, "headers", S("Authorization: Bearer abc\n"), 0600);
    config_file_put(&file, "secret", S("a secret of enough bytes\n"), 0600);
    const struct config *config = must_configure(&file,
        "job_types: {a: {post: 'https://b.org/x', headers_file: headers, secret_file: secret}}");
    EXPECT_STR(config->types[0].post, "https://b.org/x");
    EXPECT_STR(str_of(config->types[0].headers[0]), "Authorization: Bearer abc");
    EXPECT_STR(config->types[0].secret, "a secret of enough bytes");

    expect_wrong(&file, "post: 'http://b/', run: [sh]", "job_types.a.post: is in place of `run`");
    expect_wrong(&file, "post: 'http://b/', commit: [sh]", "job_types.a.commit: needs a `run`");
    expect_wrong(&file, "post: 'http://b/', category: planning", "job_types.a.post: cannot be");
    expect_wrong(&file, "post: 'http://u:p@b/'", "without a user and a password");
    expect_wrong(&file, "post: 'file:///etc/passwd'", "job_types.a.post: must be http");
    expect_wrong(&file, "headers_file: headers", "job_types.a.headers_file: is only for `post`");
    expect_wrong(&file, "secret_file: secret", "job_types.a.secret_file: is only for `post`");
    config_file_close(&file);
}

TEST(OPS_7_every_status_of_an_answer_has_a_class)
{
    static const struct {
        int status;
        enum pawl_class class;
    } rows[] = {
        { 100, PAWL_DEPENDENCY }, { 301, PAWL_CONFIGURATION }, { 308, PAWL_CONFIGURATION },
        { 400, PAWL_INVALID_INPUT }, { 401, PAWL_AUTHORIZATION }, { 403, PAWL_AUTHORIZATION },
        { 404, PAWL_CONFIGURATION }, { 408, PAWL_TIMEOUT }, { 409, PAWL_BUSINESS_RULE },
        { 413, PAWL_RESOURCE_LIMIT }, { 418, PAWL_INVALID_INPUT }, { 422, PAWL_VALIDATION },
        { 425, PAWL_TRANSIENT }, { 429, PAWL_RATE_LIMITED }, { 500, PAWL_DEPENDENCY },
        { 503, PAWL_OVERLOAD }, { 599, PAWL_DEPENDENCY }, { 999, PAWL_DEPENDENCY },
    };
    for (size_t i = 0; i < countof(rows); i++)
        EXPECT_INT((int)post_class(rows[i].status), (int)rows[i].class);
}
