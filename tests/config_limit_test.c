// Limits in the configuration: what is written becomes what the store is told.
#include "config_file.h"

static const struct limit_wish *wish_of(const struct limit_wish *wishes, size_t count,
                                        enum limit_scope scope, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].scope == scope && str_eq(wishes[i].name, str_of(name)))
            return &wishes[i];
    return NULL;
}

TEST(CONFIG_limits_of_every_scope_are_read)
{
    struct config_file file;
    config_file_open(&file);
    const struct config *config = must_configure(&file,
        "queues: {q:default: {max_running: 7, rate: 100/s}, q:slow: {weight: 1}}\n"
        "limits: {org_max_running: 50, org_rate: 500/h burst 100}\n"
        "job_types:\n"
        "  mail: {max_running: 2, rate: 10/m, max_running_per_key: 1, rate_per_key: 5/m burst 1,\n"
        "         on_rate_limited: pause_all, rate_limited_pause: 20s}\n"
        "  plain: {}\n");
    struct limit_wish *wishes = NULL;
    size_t count = 0;
    config_limits(test_arena(), config, &wishes, &count);
    EXPECT_INT(count, 4);
    const struct limit_wish *queue = wish_of(wishes, count, LIMIT_QUEUE, "q:default");
    const struct limit_wish *type = wish_of(wishes, count, LIMIT_TYPE, "mail");
    const struct limit_wish *key = wish_of(wishes, count, LIMIT_KEY, "mail");
    const struct limit_wish *org = wish_of(wishes, count, LIMIT_ORG, "");
    EXPECT(queue && type && key && org);
    EXPECT(queue->limit.max_running == 7 && queue->limit.rate.count == 100);
    EXPECT(type->limit.max_running == 2 && type->limit.rate.per_us == MINUTES(1));
    EXPECT_INT(type->limit.on_rate_limited, RATE_LIMITED_PAUSE_ALL);
    EXPECT_INT(type->limit.pause_us, SECONDS(20));
    EXPECT(key->limit.max_running == 1 && key->limit.rate.burst == 1);
    EXPECT(org->limit.max_running == 50 && org->limit.rate.burst == 100);
    config_file_close(&file);
}

TEST(CONFIG_without_limits_there_are_none)
{
    struct config_file file;
    config_file_open(&file);
    const struct config *config = must_configure(&file, "job_types: {mail: {}}\n");
    struct limit_wish *wishes = NULL;
    size_t count = 0;
    config_limits(test_arena(), config, &wishes, &count);
    EXPECT_INT(count, 0);
    config_file_close(&file);
}
