// The configuration for people: its page has every key, and the sample is one that works.
#include "config_file.h"

#include <stdlib.h>
#include <string.h>

#include "server/config_read.h"

TEST(CONFIG_the_page_about_it_has_every_key)
{
    struct str page = test_file("docs/configuration.md");
    struct str keys = config_keys(test_arena());
    keys.n -= 1;  // the empty line at the end
    EXPECT(memmem(page.s, page.n, keys.s, keys.n) != NULL);
    for (unsigned i = 0; i < CATEGORIES; i++)
        EXPECT(strstr(page.s, str_format(test_arena(), "\n| `%s` | ",
                                         category_row((enum category)i)->name)
                                  .s));
}

TEST(CONFIG_the_sample_is_fine)
{
    static struct config config;
    static struct yaml_faults faults;
    struct pawl_error err = {0};
    const char *root = getenv("SOURCE");
    struct str path = str_format(test_arena(), "%s/examples/server/pawl.yaml", root ? root : ".");
    MUST(config_load(test_arena(), path.s, &config, &faults, &err));
    EXPECT(config.type_count >= 3);
}
