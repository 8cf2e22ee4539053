// The stable hash against vectors that another implementation made, and the properties it promises.

#include "test.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "model/stable.h"

static struct str hash_of(struct str text)
{
    struct pawl_error err;
    SCOPED(json) json_t *value = NULL;
    MUST(json_parse(text, text.n, &value, &err));
    return stable_hash(test_arena(), value);
}

static struct str field(const json_t *vector, const char *name)
{
    return str_of(json_string_value(json_object_get(vector, name)));
}

static json_t *must_load_vectors(void)
{
    struct pawl_error err;
    json_t *vectors = NULL;
    struct str text = test_file("tests/vectors/stable_hash.json");
    MUST(json_parse(text, text.n, &vectors, &err));
    EXPECT(json_array_size(vectors) >= 20);
    return vectors;
}

TEST(OPS_4_every_published_vector_has_its_hash)
{
    size_t i;
    json_t *vector;
    SCOPED(json) json_t *vectors = must_load_vectors();
    json_array_foreach (vectors, i, vector) {
        expect_str(hash_of(field(vector, "input")), field(vector, "hash"),
                   PLACE(field(vector, "name").s));
    }
}

TEST(OPS_4_the_hash_of_a_vector_is_that_of_its_canonical_text)
{
    size_t i;
    json_t *vector;
    SCOPED(json) json_t *vectors = must_load_vectors();
    json_array_foreach (vectors, i, vector) {
        expect_str(hash_name(test_arena(), field(vector, "canonical")), field(vector, "hash"),
                   PLACE(field(vector, "name").s));
    }
}

static bool contains(struct str text, struct str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (str_eq((struct str){ text.s + i, part.n }, part))
            return true;
    }
    return false;
}

TEST(OPS_4_the_documentation_shows_the_vectors_that_are_tested)
{
    size_t i;
    json_t *vector;
    SCOPED(json) json_t *vectors = must_load_vectors();
    struct str page = test_file("docs/stable-hash.md");
    json_array_foreach (vectors, i, vector) {
        struct str row = str_format(test_arena(), "| %s | `%s` | `%s` | `%s` |\n",
                                    field(vector, "name").s, field(vector, "input").s,
                                    field(vector, "canonical").s, field(vector, "hash").s);
        expect(contains(page, row), PLACE(row.s));
    }
}

TEST(OPS_4_equal_inputs_have_one_hash)
{
    static const char *const same[] = {
        "{\"at\":\"2026-08-22T10:00:00Z\",\"n\":100,\"s\":\"\\u00e9\"}",
        "{\"n\":1e2,\"s\":\"\xc3\xa9\",\"at\":\"2026-08-22T12:00:00.000+02:00\"}",
        " {\n\t\"s\" : \"\\u00E9\", \"n\" : 100.0, \"at\" : \"2026-08-22t10:00:00.0009z\"}\r\n",
    };
    struct str first = hash_of(str_of(same[0]));
    EXPECT_INT(first.n, 32);
    for (size_t i = 1; i < countof(same); i++)
        expect_str(hash_of(str_of(same[i])), first, PLACE(same[i]));
}

TEST(OPS_4_different_inputs_have_different_hashes)
{
    static const char *const different[] = {
        "null", "false", "0", "\"0\"", "\"\"", "[]", "{}", "[[]]", "[{}]", "{\"\":0}", "[0]",
        "[0,0]", "[[0],0]", "[0,[0]]", "{\"a\":{\"b\":0}}", "{\"a\":0,\"b\":0}", "{\"a.b\":0}",
        "0.5", "-0.5", "9007199254740992", "9007199254740993", "\"2026-08-22\"",
        "\"2026-08-22T10:00:00Z\"",
        "\"2026-08-22T10:00:00.001Z\"", "{\"2026-08-22T10:00:00Z\":0}",
        "{\"2026-08-22T10:00:00.000Z\":0}", "\"\\u00e9\"", "\"e\\u0301\"",
    };
    for (size_t i = 0; i < countof(different); i++) {
        for (size_t j = 0; j < i; j++)
            expect(!str_eq(hash_of(str_of(different[i])), hash_of(str_of(different[j]))),
                   PLACE(different[i]));
    }
}

TEST(OPS_4_the_value_itself_is_not_changed)
{
    struct pawl_error err;
    SCOPED(json) json_t *value = NULL;
    MUST(json_parse(S("{\"b\":[\"2026-08-22T12:00:00+02:00\"],\"a\":1.0}"), 100, &value, &err));
    EXPECT_INT(stable_hash(test_arena(), value).n, 32);
    EXPECT_STR(json_text(test_arena(), value), "{\"b\":[\"2026-08-22T12:00:00+02:00\"],\"a\":1.0}");
}

TEST(OPS_4_the_recommended_key_names_type_org_project_and_hash)
{
    SCOPED(json) json_t *payload = json_object();
    EXPECT_STR(idempotency_key(test_arena(), S("report.build"), S("org"), S("project"), payload),
               "report.build:org:project:44136fa355b3678a1146ad16f7e8649e");
}

TEST(OPS_4_a_key_without_a_project_leaves_its_place_empty)
{
    SCOPED(json) json_t *payload = json_object();
    EXPECT_STR(idempotency_key(test_arena(), S("report.build"), S("org"), S(""), payload),
               "report.build:org::44136fa355b3678a1146ad16f7e8649e");
}

static int allocations_left;

static void *malloc_until_none_left(size_t bytes)
{
    return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

TEST(OPS_4_a_hash_that_could_not_be_made_is_empty_and_the_arena_knows)
{
    struct pawl_error err;
    SCOPED(json) json_t *value = NULL;
    MUST(json_parse(S("{\"a\":[1,\"2026-08-22T12:00:00Z\",{\"b\":2.5}]}"), 100, &value, &err));
    bool failed = true;
    int tries = 0;
    for (; failed; tries++) {
        SCOPED(arena) struct arena arena = {0};
        allocations_left = tries;
        json_set_alloc_funcs(malloc_until_none_left, free);
        struct str key = idempotency_key(&arena, S("t"), S("o"), S(""), value);
        json_set_alloc_funcs(malloc, free);
        failed = arena.failed;
        EXPECT_INT(key.n, failed ? 0 : 37);
    }
    EXPECT(tries > 5);
}
