// Policies of the user's own. One may be like another that stands further down, so each is
// completed when the one it is like is.
#include "server/config_read.h"

#include <assert.h>

#include "base/guess.h"
#include "model/text_rule.h"

enum { POLICIES_MAX = 200 };

static const char *const backoffs[] = { "fixed", "exponential", NULL };
static const char *const crashes[] = { [ON_CRASH_FAIL] = "fail", [ON_CRASH_RETRY] = "retry", NULL };
static const char *const timeouts[] = { [ON_TIMEOUT_TIMED_OUT] = "timed_out",
                                        [ON_TIMEOUT_RETRY] = "retry",
                                        [ON_TIMEOUT_FAIL] = "fail",
                                        NULL };

// Read before the others, by `basis`.
static void read_like(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    (void)row, (void)to;
    const char *want = "the name of a policy";
    if (node_is_text(r, node, want) && node->text.n == 0)
        wrong(r, node, "must be %s", want);
}

static const struct config_kind kind_like = { "policy", read_like, NULL, NULL };

// clang-format off
static const struct config_row rows[] = {
    { "like", &kind_like, .meaning = "the policy from which it takes what it does not say; else "
      "`default`" },
    { "max_attempts", &kind_number, MEMBER(policy, max_attempts), NULL,
      "how often a job is tried in all", 1, 1000 },
    { "step_attempts", &kind_number, MEMBER(policy, step_attempts), NULL,
      "how often a step is tried within one attempt", 1, 100 },
    { "backoff", &kind_choice, MEMBER(policy, exponential), NULL,
      "whether the delay doubles with each attempt", .words = backoffs },
    { "base", &kind_duration, MEMBER(policy, base_us), NULL, "the delay before the first retry",
      0, DAYS(30) },
    { "max_delay", &kind_duration, MEMBER(policy, delay_us_max), NULL,
      "the longest delay; at least `base`", 0, DAYS(30) },
    { "jitter", &kind_switch, MEMBER(policy, jitter), NULL,
      "whether a delay is drawn from its upper half, so that retries do not come together" },
    { "timeout", &kind_duration, MEMBER(policy, timeout_us), NULL,
      "how long one attempt may take", MILLISECONDS(1), DAYS(30) },
    { "lease", &kind_duration, MEMBER(policy, lease_us), NULL,
      "after how long without a sign of life a worker counts as dead", SECONDS(1), HOURS(1) },
    { "on_crash", &kind_choice, MEMBER(policy, on_crash), NULL, "what happens when its worker dies",
      .words = crashes },
    { "on_timeout", &kind_choice, MEMBER(policy, on_timeout), NULL,
      "what happens when an attempt takes too long", .words = timeouts },
    { "dead_letter", &kind_switch, MEMBER(policy, dead_letter), NULL,
      "whether a job that ends badly becomes a dead letter" },
    { "key_ttl", &kind_duration, MEMBER(policy, key_ttl_us), NULL,
      "how long its idempotency key is remembered; else as the category says", 0, DAYS(3650) },
    { "queue", &kind_queue, MEMBER(policy, queue), NULL,
      "where its jobs wait; else as the category says" },
};
// clang-format on
const struct config_table policy_table = TABLE("policies.NAME", rows);

struct draft {
    struct config_policy policy;
    const struct yaml_node *node;
    bool complete;
};

struct drafts {
    struct draft *list;
    size_t count;
};

static struct draft *find(const struct drafts *drafts, struct str name)
{
    for (size_t i = 0; i < drafts->count; i++)
        if (str_eq(drafts->list[i].policy.policy.name, name))
            return &drafts->list[i];
    return NULL;
}

static struct str like_of(const struct yaml_node *node)
{
    const struct yaml_node *like = node_find(node, "like");
    return like && like->kind == YAML_TEXT && like->text.n ? like->text : S("default");
}

// What a policy starts from, when that is complete.
static bool basis(const struct drafts *drafts, const struct draft *draft,
                  struct config_policy *base)
{
    struct str like = like_of(draft->node);
    const struct policy *builtin = policy_builtin(like);
    const struct draft *other = find(drafts, like);
    if (builtin)
        return *base = (struct config_policy){ .policy = *builtin }, true;
    if (other && other->complete)
        return *base = other->policy, true;
    return false;
}

static void check_whole(const struct reading *r, const struct draft *draft)
{
    struct problems problems = { .arena = r->arena };
    policy_check(&draft->policy.policy, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        const struct yaml_node *node = node_find(draft->node, problems.list[i].field.s);
        if (node)
            wrong(SUB(r, node), node, "%.*s", STR(problems.list[i].message));
    }
}

static void complete(const struct reading *r, const struct config_policy *base,
                     struct draft *draft)
{
    struct policy *policy = &draft->policy.policy;
    struct str name = policy->name;
    size_t before = r->faults->count;
    draft->policy = *base;
    policy->name = name;
    draft->complete = true;
    table_read(r, &policy_table, draft->node, policy);
    if (!node_find(draft->node, "max_delay") && policy->delay_us_max < policy->base_us)
        policy->delay_us_max = policy->base_us;  // a longer delay than its base ever had
    draft->policy.says_queue |= node_find(draft->node, "queue") != NULL;
    draft->policy.says_key_ttl |= node_find(draft->node, "key_ttl") != NULL;
    if (r->faults->count == before)
        check_whole(r, draft);
}

// Each round completes those whose basis is there; when a round completes none, the others are like
// something that does not exist, or like each other in a circle.
static void complete_all(const struct reading *r, const struct drafts *drafts)
{
    bool some = true;
    while (some) {
        some = false;
        for (size_t i = 0; i < drafts->count; i++) {
            struct draft *draft = &drafts->list[i];
            struct config_policy base;
            if (draft->complete || !basis(drafts, draft, &base))
                continue;
            complete(SUB(r, draft->node), &base, draft);
            some = true;
        }
    }
}

static void refuse_baseless(const struct reading *r, const struct drafts *drafts,
                            struct draft *draft)
{
    const struct yaml_node *like = node_find(draft->node, "like");
    struct guess guess = {0};
    struct config_policy base = { .policy = *policy_builtin(S("default")) };
    assert(like);  // without it the basis is `default`
    for (size_t i = 0; policy_builtin_at(i); i++)
        guess_try(&guess, like->text, policy_builtin_at(i)->name.s);
    for (size_t i = 0; i < drafts->count; i++)
        guess_try(&guess, like->text, drafts->list[i].policy.policy.name.s);
    const struct reading *at = SUB(r, draft->node);
    if (find(drafts, like->text))
        wrong(SUB(at, like), like, "is like itself, by way of others");
    else if (guess.name)
        wrong(SUB(at, like), like, "there is no such policy; did you mean %s?", guess.name);
    else
        wrong(SUB(at, like), like, "there is no such policy");
    complete(at, &base, draft);  // to find what else is wrong
}

static void check_name(const struct reading *r, const struct yaml_node *node)
{
    if (node->key.n > NAME_BYTES_MAX || !text_is_name(node->key))
        wrong_key(r, node, "the name of a policy must be 1 to 128 of A-Z a-z 0-9 . _ : -");
    else if (policy_builtin(node->key))
        wrong_key(r, node, "is built in: give yours another name");
}

static void read_policies(const struct reading *r, const struct config_row *row,
                          const struct yaml_node *map, void *to)
{
    (void)row;
    if (map->count > POLICIES_MAX) {
        wrong(r, map, "has %zu policies: at most %d are allowed", map->count, POLICIES_MAX);
        return;
    }
    struct drafts drafts = { arena_new(r->arena, struct draft, map->count + 1), 0 };
    struct config_policy *policies = arena_new(r->arena, struct config_policy, map->count + 1);
    if (!node_is_map(r, map, "a map of policies") || !drafts.list || !policies)
        return;
    for (const struct yaml_node *node = map->first; node; node = node->next) {
        check_name(SUB(r, node), node);
        if (node_is_map(SUB(r, node), node, "a map"))
            drafts.list[drafts.count++] = (struct draft){ .policy.policy.name = node->key,
                                                          .node = node };
    }
    complete_all(r, &drafts);
    for (size_t i = 0; i < drafts.count; i++) {
        if (!drafts.list[i].complete)
            refuse_baseless(r, &drafts, &drafts.list[i]);
        policies[i] = drafts.list[i].policy;
    }
    *(const struct config_policy **)to = policies;
    r->config->policy_count = drafts.count;
}

static json_t *show_policies(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config *config = (const void *)((const char *)from
                                                 - offsetof(struct config, policies));
    json_t *object = json_object();
    for (size_t i = 0; i < config->policy_count; i++) {
        const struct policy *policy = &config->policies[i].policy;
        json_object_setn_new(object, policy->name.s, policy->name.n,
                             table_show(arena, &policy_table, policy));
    }
    return object;
}

const struct config_kind kind_policies = { "section", read_policies, show_policies, NULL };
