// Types of jobs: what is written is read into a draft, and the draft with its category and policy
// makes the type.
#include "server/config_read.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/guess.h"
#include "model/text_rule.h"

enum { TYPES_MAX = 10000, KEY_FIELDS_MAX = 32, RUNBOOK_BYTES_MAX = 4096 };

// What is written about a type. `type` is the result; the other members come before it.
struct draft {
    struct config_type type;
    struct str category, policy, queue;
    int64_t timeout_us, grace_us, bucket_us;  // 0: not said
    bool authoritative, may_write;
};

// ----- kinds of its own

static void read_category(const struct reading *r, const struct config_row *row,
                          const struct yaml_node *node, void *to)
{
    (void)row;
    struct buf known = buf_new(r->arena, KEY_BYTES_MAX);
    enum category ignored;
    for (unsigned i = 0; i < CATEGORIES; i++)
        buf_addf(&known, " %s", category_row((enum category)i)->name);
    if (!node_is_text(r, node, "the name of a category"))
        return;
    if (category_parse(node->text, &ignored))
        *(struct str *)to = node->text;
    else
        wrong(r, node, "must be one of%.*s", STR(buf_str(&known)));
}

static void read_policy(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    (void)row;
    struct guess guess = {0};
    if (!node_is_text(r, node, "the name of a policy"))
        return;
    *(struct str *)to = node->text;
    if (config_policy(r->config, node->text))
        return;
    for (size_t i = 0; policy_builtin_at(i); i++)
        guess_try(&guess, node->text, policy_builtin_at(i)->name.s);
    for (size_t i = 0; i < r->config->policy_count; i++)
        guess_try(&guess, node->text, r->config->policies[i].policy.name.s);
    if (guess.name)
        wrong(r, node, "there is no such policy; did you mean %s?", guess.name);
    else
        wrong(r, node, "there is no such policy");
}

static void read_directory(const struct reading *r, const struct config_row *row,
                           const struct yaml_node *node, void *to)
{
    (void)row;
    struct stat place;
    if (!node_is_text(r, node, "a directory"))
        return;
    const char *path = path_from(r, node->text);
    if (stat(path, &place) != 0 || !S_ISDIR(place.st_mode))
        wrong(r, node, "%s is no directory", path);
    else
        *(const char **)to = path;
}

static json_t *show_directory(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    const char *path = *(const char *const *)from;
    return path ? json_string(path) : json_null();
}

static void read_key_fields(const struct reading *r, const struct yaml_node *list,
                            struct recipe *recipe)
{
    struct str *fields = arena_new(r->arena, struct str, list->count + 1);
    if (list->count == 0 || list->count > KEY_FIELDS_MAX) {
        wrong(r, list, "must name 1 to %d fields of the payload", KEY_FIELDS_MAX);
        return;
    }
    *recipe = (struct recipe){ .kind = RECIPE_FIELDS, .fields = fields };
    for (const struct yaml_node *node = list->first; fields && node; node = node->next) {
        struct yaml_path path = { r->path, S(""), recipe->field_count };
        struct reading at = { r->arena, r->faults, r->config, &path };
        if (node->kind != YAML_TEXT || yaml_null(node) || node->text.n > JSON_KEY_BYTES_MAX)
            wrong(&at, node, "must be the name of a field of the payload");
        fields[recipe->field_count++] = node->text;
    }
}

static void read_key(const struct reading *r, const struct config_row *row,
                     const struct yaml_node *node, void *to)
{
    (void)row;
    struct recipe *recipe = to;
    if (node->kind == YAML_LIST)
        read_key_fields(r, node, recipe);
    else if (node->kind == YAML_TEXT && str_eq(node->text, S("content")))
        *recipe = (struct recipe){ .kind = RECIPE_CONTENT };
    else
        wrong(r, node, "must be `content` or a list of fields of the payload");
}

static json_t *show_key(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    const struct recipe *recipe = from;
    static const char *const words[] = { [RECIPE_CONTENT] = "content",
                                         [RECIPE_NOTIFICATION] = "notification" };
    if (recipe->kind == RECIPE_NONE)
        return json_null();
    if (recipe->kind != RECIPE_FIELDS)
        return json_string(words[recipe->kind]);
    json_t *list = json_array();
    for (size_t i = 0; i < recipe->field_count; i++)
        json_array_append_new(list, json_stringn(recipe->fields[i].s, recipe->fields[i].n));
    return list;
}

static const struct config_kind kind_category = { "category", read_category, NULL, NULL };
static const struct config_kind kind_policy = { "policy", read_policy, NULL, NULL };
static const struct config_kind kind_directory = {
    "directory", read_directory, show_directory, NULL,
};
static const struct config_kind kind_key = {
    "`content` or list of fields", read_key, show_key, NULL,
};

// ----- the table

static const char *const secrets[] = { "refuse", "allow", NULL };
static const char *const rate_limited[] = {
    [RATE_LIMITED_RETRY] = "retry", [RATE_LIMITED_PAUSE] = "pause",
    [RATE_LIMITED_PAUSE_ALL] = "pause_all", NULL,
};

// clang-format off
static const struct config_row rows[] = {
    { "category", &kind_category, MEMBER(draft, category), NULL,
      "what its jobs are for: sets queue, policy, key TTL and allowed effects; else the category "
      "of its policy" },
    { "policy", &kind_policy, MEMBER(draft, policy), NULL,
      "how its jobs are retried; else the policy of the category" },
    { "queue", &kind_queue, MEMBER(draft, queue), NULL,
      "where its jobs wait; else the queue of the category" },
    { "run", &kind_command, MEMBER(draft, type.run), NULL,
      "the command that does the work: it may be run again and again. Without one the jobs wait "
      "for a remote worker" },
    { "commit", &kind_command, MEMBER(draft, type.commit), NULL,
      "the command that acts on the world, after the job is COMMITTED: run again until it "
      "succeeds, with the same `PAWL_EFFECT_KEY`" },
    { "post", &kind_url, MEMBER(draft, type.post), NULL,
      "in place of `run`: where the payload is sent as JSON with POST; the answer is the result" },
    { "headers_file", &kind_headers, MEMBER(draft, type.headers), NULL,
      "sent with each `post`, one `Name: value` per line" },
    { "secret_file", &kind_secret, MEMBER(draft, type.secret), NULL,
      "signs each `post`: `X-Pawl-Signature: sha256=HMAC`, of the body in hexadecimal digits" },
    { "directory", &kind_directory, MEMBER(draft, type.directory), NULL,
      "where its commands run; else the directory of this file" },
    { "env", &kind_environment, MEMBER(draft, type.environment), NULL,
      "variables for its commands: a text, `{file: FILE}` or `{env: NAME}`" },
    { "timeout", &kind_duration, MEMBER(draft, timeout_us), NULL,
      "how long one attempt may take; else as the policy says", MILLISECONDS(1), DAYS(30) },
    { "grace", &kind_duration, MEMBER(draft, grace_us), NULL,
      "how long a command has between SIGTERM and SIGKILL; else `limits.grace`",
      MILLISECONDS(1), HOURS(1) },
    { "key", &kind_key, MEMBER(draft, type.type.key), NULL,
      "what the idempotency key is made of when none is sent; else one must be sent, except for "
      "notifications" },
    { "bucket", &kind_duration, MEMBER(draft, bucket_us), NULL,
      "of notifications: the same one is sent once in this time; else `1h`",
      SECONDS(1), DAYS(366) },
    { "max_running", &kind_number, MEMBER(draft, type.limit.max_running), NULL,
      "how many of its jobs may run at once, in all processes and of all orgs together; else no "
      "limit", 1, RUNNING_MAX },
    { "rate", &kind_rate, MEMBER(draft, type.limit.rate), NULL,
      "how many of its jobs may begin per time; else no limit" },
    { "max_running_per_key", &kind_number, MEMBER(draft, type.key_limit.max_running), NULL,
      "the same of the jobs of one org with one `limit_key`; else no limit", 1, RUNNING_MAX },
    { "rate_per_key", &kind_rate, MEMBER(draft, type.key_limit.rate), NULL,
      "the same of the jobs of one org with one `limit_key`; else no limit" },
    { "on_rate_limited", &kind_choice, MEMBER(draft, type.limit.on_rate_limited), "retry",
      "what becomes of its other jobs when one ends `rate_limited`: `pause` keeps those of the "
      "same org waiting, `pause_all` all of them, until the time the provider said",
      .words = rate_limited },
    { "rate_limited_pause", &kind_duration, MEMBER(draft, type.limit.pause_us), NULL,
      "how long that is when the provider does not say; else `30s`",
      SECONDS(1), RATE_LIMITED_PAUSE_US_MAX },
    { "allow_delay", &kind_switch, MEMBER(draft, type.type.allow_delay), "false",
      "whether `scheduled_for` may be sent; always so for notifications and maintenance" },
    { "secrets", &kind_choice, MEMBER(draft, type.type.secrets_allowed), "refuse",
      "what happens when a payload looks as if it held a secret", .words = secrets },
    { "authoritative", &kind_switch, MEMBER(draft, authoritative), "false",
      "whether its results are the truth itself, not derived from it" },
    { "may_write", &kind_switch, MEMBER(draft, may_write), "false",
      "of planning: whether a job with `authorized_by` may have other effects than its plan" },
    { "runbook", &kind_text, MEMBER(draft, type.type.runbook), NULL,
      "what an operator should do with a dead letter", .max = RUNBOOK_BYTES_MAX },
};
// clang-format on
const struct config_table type_table = TABLE("job_types.NAME", rows);

// ----- from a draft to a type

static enum category category_of(const struct draft *draft, const struct policy *policy)
{
    enum category category = CATEGORY_DEFAULT;
    if (draft->category.n)
        category_parse(draft->category, &category);
    else if (policy)
        category_parse(policy->category, &category);
    return category;
}

static bool says(const struct config *config, struct str policy, bool queue)
{
    for (size_t i = 0; i < config->policy_count; i++)
        if (str_eq(config->policies[i].policy.name, policy))
            return queue ? config->policies[i].says_queue : config->policies[i].says_key_ttl;
    return false;
}

static struct policy policy_of(const struct config *config, const struct draft *draft,
                               const struct policy *named, enum category category)
{
    struct policy base = category_policy(category);
    struct policy policy = named ? *named : base;
    policy.category = base.category;
    if (!says(config, draft->policy, true))
        policy.queue = base.queue;
    if (!says(config, draft->policy, false))
        policy.key_ttl_us = base.key_ttl_us;
    if (draft->queue.n)
        policy.queue = draft->queue;
    if (draft->timeout_us)
        policy.timeout_us = draft->timeout_us;
    policy.authoritative = draft->authoritative;
    policy.may_write = draft->may_write;
    return policy;
}

static void finish(const struct config *config, struct draft *draft)
{
    struct job_type *type = &draft->type.type;
    const struct policy *named = draft->policy.n ? config_policy(config, draft->policy) : NULL;
    type->category = category_of(draft, named);
    type->policy = policy_of(config, draft, named, type->category);
    type->timeout_us = draft->timeout_us;
    type->critical = type->category == CATEGORY_CRITICAL
                  || str_eq(type->policy.queue, CRITICAL_QUEUE);
    type->allow_delay |= category_row(type->category)->delay;
    if (type->key.kind == RECIPE_NONE && type->category == CATEGORY_NOTIFICATION)
        type->key = (struct recipe){
            .kind = RECIPE_NOTIFICATION,
            .bucket_us = draft->bucket_us ? draft->bucket_us : BUCKET_US_DEFAULT,
        };
    draft->type.grace_us = draft->grace_us ? draft->grace_us : config->limits.grace_us;
    if (!draft->type.directory)
        draft->type.directory = config->directory.s;
}

// What does not fit together, though each key is fine.
static void check_whole(const struct reading *r, const struct draft *draft,
                        const struct yaml_node *node)
{
    const struct job_type *type = &draft->type.type;
    const struct {
        const char *key;
        bool wrong;
        const char *why;
    } rules[] = {
        { "bucket", type->key.kind != RECIPE_NOTIFICATION,
          "is only for notifications whose key is not made in another way" },
        { "rate_limited_pause", draft->type.limit.on_rate_limited == RATE_LIMITED_RETRY,
          "is only for a type whose on_rate_limited is pause or pause_all" },
        { "may_write", type->category != CATEGORY_PLANNING, "is only for category planning" },
        { "commit", effects_judge(&type->policy, true, EFFECT_FINISH).refused != 0,
          "is not allowed: a job of this category may not act on the world" },
        { "commit", !draft->type.run && !node_find(node, "run"),
          "needs a `run`, after which it comes" },
        { "post", node_find(node, "run") != NULL, "is in place of `run`: say one of them" },
        { "post", (effects_required(type->policy.category) & EFFECT_ARTIFACTS) != 0,
          "cannot be: a job of this category must bring an artifact, and an answer is none" },
        { "headers_file", !node_find(node, "post"), "is only for `post`" },
        { "secret_file", !node_find(node, "post"), "is only for `post`" },
    };
    for (size_t i = 0; i < countof(rules); i++) {
        const struct yaml_node *key = node_find(node, rules[i].key);
        if (key && rules[i].wrong)
            wrong_key(SUB(r, key), key, "%s", rules[i].why);
    }
}

static void read_type(const struct reading *r, const struct yaml_node *node,
                      struct config_type *type)
{
    struct draft draft = { .type.type.name = node->key };
    table_defaults(r, &type_table, &draft);
    if (node->key.n > NAME_BYTES_MAX || !text_is_type(node->key))
        wrong_key(r, node, "a type must be called by 1 to 128 of A-Z a-z 0-9 . _ : - that start "
                           "with a letter or digit");
    if (node_is_map(r, node, "a map"))
        table_read(r, &type_table, node, &draft);
    finish(r->config, &draft);
    check_whole(r, &draft, node);
    *type = draft.type;
}

static int by_name(const void *a, const void *b)
{
    const struct config_type *x = a, *y = b;
    return str_order(x->type.name, y->type.name);
}

static void read_types(const struct reading *r, const struct config_row *row,
                       const struct yaml_node *map, void *to)
{
    (void)row;
    struct config_type *types = arena_new(r->arena, struct config_type, map->count + 1);
    size_t count = 0;
    if (!node_is_map(r, map, "a map of job types") || !types)
        return;
    if (map->count > TYPES_MAX) {
        wrong(r, map, "has %zu types: at most %d are allowed", map->count, TYPES_MAX);
        return;
    }
    for (const struct yaml_node *node = map->first; node; node = node->next)
        read_type(SUB(r, node), node, &types[count++]);
    qsort(types, count, sizeof(types[0]), by_name);
    *(const struct config_type **)to = types;
    r->config->type_count = count;
}

// As it works out, in the keys of the file.
static json_t *show_type(struct arena *arena, const struct config_type *type)
{
    const struct policy *policy = &type->type.policy;
    struct draft draft = {
        .type = *type,
        .timeout_us = policy->timeout_us,
        .grace_us = type->grace_us,
        .bucket_us = type->type.key.bucket_us,
        .queue = policy->queue,
        .authoritative = policy->authoritative,
        .may_write = policy->may_write,
    };
    json_t *object = table_show(arena, &type_table, &draft);
    json_object_set_new(object, "category", json_stringn(policy->category.s, policy->category.n));
    json_object_set_new(object, "policy", json_stringn(policy->name.s, policy->name.n));
    return object;
}

static json_t *show_types(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config *config = (const void *)((const char *)from
                                                 - offsetof(struct config, types));
    json_t *object = json_object();
    for (size_t i = 0; i < config->type_count; i++) {
        struct str name = config->types[i].type.name;
        json_object_setn_new(object, name.s, name.n, show_type(arena, &config->types[i]));
    }
    return object;
}

const struct config_kind kind_types = { "section", read_types, show_types, NULL };
