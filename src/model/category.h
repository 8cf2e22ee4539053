// Categories: what a job is for. It decides queue, policy, how long a key is remembered, and which
// effects a commit may and must have (OPS-3, OPS-6, OPS-22, OPS-23).
#pragma once

#include "model/policy.h"

enum category {
    CATEGORY_DEFAULT,
    CATEGORY_CRITICAL,
    CATEGORY_AUDIT,
    CATEGORY_NOTIFICATION,
    CATEGORY_PLANNING,
    CATEGORY_TRANSFER,  // import and export
    CATEGORY_MAINTENANCE,
    CATEGORY_DOCUMENT,
    CATEGORY_LIFECYCLE,
    CATEGORIES
};

// What a commit can carry, as bits.
enum commit_effect {
    EFFECT_RESULT = 1 << 0,
    EFFECT_FOLLOW_UPS = 1 << 1,
    EFFECT_ANNOTATIONS = 1 << 2,
    EFFECT_ROWS = 1 << 3,    // the application's own SQL
    EFFECT_FINISH = 1 << 4,  // a phase after COMMITTED that acts on the world
    EFFECT_ARTIFACTS = 1 << 5,
    EFFECTS = 6
};

struct category_row {
    const char *name;
    const char *policy;  // the built-in one, which says queue and key TTL
    unsigned may;        // what a commit may carry ...
    unsigned must;       // ... of which it must carry these ...
    unsigned with_leave; // ... and more when the type says `may_write` and the job `authorized_by`
    bool delay;          // `scheduled_for` is allowed (OPS-15)
    const char *use;     // for people
};

const struct category_row *category_row(enum category category);
const char *effect_name(unsigned effect);  // of one bit

// The category of this name. A policy that stands for itself (`document`, `lifecycle`) says
// `default`, so every word that is stored with a job is one of these.
bool category_parse(struct str name, enum category *category);

// The policy of a category: its built-in one, saying the category's own name.
struct policy category_policy(enum category category);

// What is wrong with a commit that has these effects: bits, 0 when nothing is. A word that is no
// category is taken as `default`. `authorized`: the job carries `authorized_by`.
struct effect_verdict {
    unsigned refused;    // it may not have them ...
    unsigned with_leave; // ... of which these with may_write and authorized_by
    unsigned missing;    // it must have them
};
struct effect_verdict effects_judge(const struct policy *policy, bool authorized,
                                    unsigned effects);

// Those that a job of this category must have.
unsigned effects_required(struct str category);
