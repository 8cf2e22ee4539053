// One row per category.
#include "model/category.h"

#include <assert.h>

enum { ALL = (1 << EFFECTS) - 1,
       PLAN = EFFECT_ARTIFACTS | EFFECT_RESULT | EFFECT_ANNOTATIONS };

// clang-format off
static const struct category_row rows[] = {
    [CATEGORY_DEFAULT]      = { "default",      "default",      ALL, 0, 0, false,
                                "anything else" },
    [CATEGORY_CRITICAL]     = { "critical",     "critical",     ALL, 0, 0, false,
                                "what must not wait behind other work" },
    [CATEGORY_AUDIT]        = { "audit",        "audit",        EFFECT_ANNOTATIONS, 0, 0, false,
                                "adds annotations to the audit trail, and nothing else" },
    [CATEGORY_NOTIFICATION] = { "notification", "notification", ALL, 0, 0, true,
                                "tells somebody something; the same is told once an hour" },
    [CATEGORY_PLANNING]     = { "planning",     "planning",     PLAN, EFFECT_ARTIFACTS, ALL, false,
                                "computes a plan or a proposal, which is an artifact" },
    [CATEGORY_TRANSFER]     = { "transfer",     "transfer",     ALL, 0, 0, false,
                                "imports and exports: what goes in and comes out are artifacts" },
    [CATEGORY_MAINTENANCE]  = { "maintenance",  "maintenance",  ALL, 0, 0, true,
                                "cleans up, re-indexes, repairs" },
    [CATEGORY_DOCUMENT]     = { "document",     "document",     ALL, 0, 0, false,
                                "one run, never repeated by itself" },
    [CATEGORY_LIFECYCLE]    = { "lifecycle",    "lifecycle",    ALL, 0, 0, false,
                                "three retries, a second apart" },
};
// clang-format on
_Static_assert(countof(rows) == CATEGORIES, "one row per category");

static const char *const effect_names[] = {
    "a result", "follow-up jobs", "annotations", "rows of the application", "a commit phase",
    "artifacts",
};
_Static_assert(countof(effect_names) == EFFECTS, "one name per effect");

const struct category_row *category_row(enum category category)
{
    assert(category < CATEGORIES);
    return &rows[category];
}

const char *effect_name(unsigned effect)
{
    assert(__builtin_popcount(effect) == 1 && effect < 1U << EFFECTS);
    return effect_names[__builtin_ctz(effect)];
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

static const struct category_row *row_of(struct str category)
{
    enum category found = CATEGORY_DEFAULT;
    category_parse(category, &found);
    return &rows[found];
}

struct effect_verdict effects_judge(const struct policy *policy, bool authorized, unsigned effects)
{
    const struct category_row *row = row_of(policy->category);
    bool leave = policy->may_write && authorized;
    unsigned refused = effects & ~(row->may | (leave ? row->with_leave : 0U));
    return (struct effect_verdict){
        .refused = refused,
        .with_leave = refused & row->with_leave,
        .missing = row->must & ~effects,
    };
}

unsigned effects_required(struct str category)
{
    return row_of(category)->must;
}
