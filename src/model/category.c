// One row per category.
#include "model/category.h"

#include <assert.h>

enum { ALL = (1 << EFFECTS) - 1 };

// clang-format off
static const struct category_row rows[] = {
    [CATEGORY_DEFAULT]      = { "default",      "default",      ALL, false, "anything else" },
    [CATEGORY_CRITICAL]     = { "critical",     "critical",     ALL, false,
                                "what must not wait behind other work" },
    [CATEGORY_AUDIT]        = { "audit",        "audit",        EFFECT_ANNOTATIONS, false,
                                "adds annotations to the audit trail, and nothing else" },
    [CATEGORY_NOTIFICATION] = { "notification", "notification", ALL, true,
                                "tells somebody something; the same is told once an hour" },
    [CATEGORY_PLANNING]     = { "planning",     "planning",     ALL, false,
                                "computes a plan or a proposal" },
    [CATEGORY_TRANSFER]     = { "transfer",     "transfer",     ALL, false,
                                "imports and exports" },
    [CATEGORY_MAINTENANCE]  = { "maintenance",  "maintenance",  ALL, true,
                                "cleans up, re-indexes, repairs" },
    [CATEGORY_DOCUMENT]     = { "document",     "document",     ALL, false,
                                "one run, never repeated by itself" },
    [CATEGORY_LIFECYCLE]    = { "lifecycle",    "lifecycle",    ALL, false,
                                "three retries, a second apart" },
};
// clang-format on
_Static_assert(countof(rows) == CATEGORIES, "one row per category");

static const char *const effects[] = {
    "a result", "follow-up jobs", "annotations", "rows of the application", "a commit phase",
};
_Static_assert(countof(effects) == EFFECTS, "one name per effect");

const struct category_row *category_row(enum category category)
{
    assert(category < CATEGORIES);
    return &rows[category];
}

const char *effect_name(unsigned effect)
{
    for (size_t i = 0; i < countof(effects); i++)
        if (effect == 1U << i)
            return effects[i];
    assert(effect == 0);  // one effect, or none
    return "";
}

bool category_parse(struct str name, enum category *category)
{
    for (unsigned i = 0; i < CATEGORIES; i++)
        if (str_eq(name, str_of(rows[i].name)))
            return *category = (enum category)i, true;
    return false;
}

struct policy category_policy(enum category category)
{
    const struct category_row *row = category_row(category);
    struct policy policy = *policy_builtin(str_of(row->policy));
    policy.category = str_of(row->name);
    return policy;
}

unsigned effects_refused(struct str category, unsigned wanted)
{
    enum category found = CATEGORY_DEFAULT;
    category_parse(category, &found);
    return wanted & ~rows[found].effects;
}
