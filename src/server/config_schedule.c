// Schedules of the file: what is written is read into a draft, and checked by the same rules as one
// that comes over HTTP; what they find is said at the key it is about.
#include "server/config_read.h"

#include <string.h>

#include "model/text_rule.h"
#include "server/schedule_terms.h"

enum { SCHEDULES_MAX = 10000 };

// What is written about a schedule.
struct draft {
    struct config_schedule made;
    struct str policy;
};

// ----- payloads

// As JSON would read it: what is not quoted and is a number, true, false or null is that, and
// anything else is a text.
static json_t *scalar(const struct yaml_node *node)
{
    static const char starts[] = "-0123456789tf";
    struct str text = node->text;
    json_t *value = NULL;
    if (!node->quoted && yaml_null(node))
        return json_null();
    if (!node->quoted && memchr(starts, text.s[0], sizeof starts - 1))
        value = json_loadb(text.s, text.n, JSON_DECODE_ANY, NULL);
    return value ? value : json_stringn(text.s, text.n);
}

// What has no memory is missing, and the arena remembers.
static json_t *value_of(struct arena *arena, const struct yaml_node *node)
{
    if (node->kind == YAML_TEXT)
        return scalar(node);
    bool map = node->kind == YAML_MAP;
    json_t *value = map ? json_object() : json_array();
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        json_t *inside = value_of(arena, child);
        int added = map ? json_object_setn_new(value, child->key.s, child->key.n, inside)
                        : json_array_append_new(value, inside);
        arena->failed |= added != 0;
    }
    return value;
}

static void read_payload(const struct reading *r, const struct config_row *row,
                         const struct yaml_node *node, void *to)
{
    (void)row;
    if (!node_is_map(r, node, "a map"))
        return;
    SCOPED(json) json_t *payload = yaml_null(node) ? json_object() : value_of(r->arena, node);
    *(struct str *)to = json_text(r->arena, payload);
}

// ----- names

static void read_uuid(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "a UUID in lower case";
    if (!node_is_text(r, node, want))
        return;
    if (text_is_uuid(node->text))
        *(struct str *)to = node->text;
    else
        wrong(r, node, "must be %s", want);
}

static json_t *show_uuid(struct arena *arena, const struct config_row *row, const void *from)
{
    return kind_text.show(arena, row, from);
}

static const struct config_kind kind_payload = { "map", read_payload, NULL, NULL };
static const struct config_kind kind_uuid = { "UUID", read_uuid, show_uuid, NULL };

// ----- the table

#define TERM(member) MEMBER(draft, made.schedule.member)

// Bounds that schedule_check judges are repeated here for the page that comes of it.
// clang-format off
static const struct config_row rows[] = {
    { "job_type", &kind_name, TERM(job_type), NULL,
      "of the jobs it makes; must be said. A type without `run` waits for a remote worker" },
    { "payload", &kind_payload, TERM(payload), NULL, "of each of them; else `{}`" },
    { "cron", &kind_text, TERM(cron), NULL,
      "when, as a cron expression: see [schedules.md](schedules.md). This or `every` must be said",
      .max = CRON_BYTES_MAX },
    { "every", &kind_duration, TERM(every_us), NULL,
      "or how often: at the multiples of it since 1970, in UTC", EVERY_US_MIN, EVERY_US_MAX },
    { "timezone", &kind_text, TERM(timezone), NULL, "of `cron`, such as Europe/Berlin; else UTC",
      .max = NAME_BYTES_MAX },
    { "coalesce", &kind_switch, TERM(coalesce), NULL,
      "whether several slots that are due at once become one, the last; must be said" },
    { "misfire_grace_time", &kind_duration, TERM(misfire_grace_us), NULL,
      "how late a slot may still run; must be said, 300s is a good start",
      GRACE_US_MIN, GRACE_US_MAX },
    { "max_instances", &kind_number, TERM(max_instances), NULL,
      "how many of its jobs may run at once; must be said, mostly 1", 1, INSTANCES_MAX },
    { "expected_max_runtime", &kind_duration, TERM(expected_us), NULL,
      "how long a job takes at most; one that takes twice as long is ended. Must be said",
      RUNTIME_US_MIN, RUNTIME_US_MAX },
    { "catch_up", &kind_number, TERM(catch_up), "10",
      "without `coalesce`: how many of the slots that are due at once run, the latest of them",
      1, CATCH_UP_MAX },
    { "jitter", &kind_duration, TERM(jitter_us), "0s", "over how long those are spread",
      0, JITTER_US_MAX },
    { "org", &kind_uuid, MEMBER(draft, made.org_id), "00000000-0000-7000-8000-000000000000",
      "whose it is" },
    { "project_id", &kind_uuid, TERM(project_id), NULL, "of its jobs; else none" },
    { "policy", &kind_text, MEMBER(draft, policy), NULL,
      "how its jobs are retried; else `scheduled`: once. The timeout is always twice "
      "`expected_max_runtime`", .max = NAME_BYTES_MAX },
    { "queue", &kind_queue, TERM(queue), NULL,
      "where its jobs wait; else the queue of the policy" },
    { "paused", &kind_switch, MEMBER(draft, made.paused), "false",
      "whether it is paused when it is made. Later on `pawl schedule pause` and `resume` decide, "
      "and this key changes nothing" },
};
// clang-format on
const struct config_table schedule_table = TABLE("schedules.NAME", rows);

// ----- from a draft to a schedule

// Where a problem is said: at the value it is about, unless that could not be read at all; else at
// the name of the schedule, with the key that is missing.
static void place(const struct reading *r, const struct yaml_node *node, size_t before,
                  const struct problem *problem)
{
    struct str key, rest;
    str_cut(problem->field, '.', &key, &rest);  // payload.smtp.password
    const struct yaml_node *at = node_find(node, str_cstr(r->arena, key));
    if (!at) {
        wrong_key(r, node, "%.*s: %.*s", STR(problem->field), STR(problem->message));
        return;
    }
    for (size_t i = before; i < r->faults->count; i++)
        if (r->faults->list[i].line == at->line && r->faults->list[i].column == at->column)
            return;
    wrong(SUB(r, at), at, "%s%.*s%s%.*s", rest.n ? "its " : "", STR(rest), rest.n ? " " : "",
          STR(problem->message));
}

static void read_schedule(const struct reading *r, const struct yaml_node *node,
                          struct config_schedule *made)
{
    struct draft draft = { .made.schedule = { .name = node->key, .payload = S("{}") } };
    struct schedule *schedule = &draft.made.schedule;
    struct problems problems = { .arena = r->arena };
    size_t before = r->faults->count;
    table_defaults(r, &schedule_table, &draft);
    if (!node_is_map(r, node, "a map"))
        return;
    table_read(r, &schedule_table, node, &draft);
    schedule->coalesce_said = node_find(node, "coalesce") != NULL;
    if (schedule->every_us == 0 && node_find(node, "every"))
        schedule->every_us = EVERY_US_MIN;  // it was said, if not well
    schedule_complete(r->config, draft.policy, schedule, &problems);
    for (size_t i = 0; i < problems.count; i++)
        place(r, node, before, &problems.list[i]);
    *made = draft.made;
}

static void read_schedules(const struct reading *r, const struct config_row *row,
                           const struct yaml_node *map, void *to)
{
    (void)row;
    struct config_schedule *schedules = arena_new(r->arena, struct config_schedule, map->count + 1);
    size_t count = 0;
    if (!node_is_map(r, map, "a map of schedules") || !schedules)
        return;
    if (map->count > SCHEDULES_MAX) {
        wrong(r, map, "has %zu schedules: at most %d are allowed", map->count, SCHEDULES_MAX);
        return;
    }
    for (const struct yaml_node *node = map->first; node; node = node->next)
        read_schedule(SUB(r, node), node, &schedules[count++]);
    *(const struct config_schedule **)to = schedules;
    r->config->schedule_count = count;
}

// As it works out, in the keys of the file; payloads are for those who may see them.
static json_t *show_schedule(struct arena *arena, const struct config_schedule *made)
{
    struct draft draft = { .made = *made, .policy = made->schedule.policy.name };
    struct schedule *schedule = &draft.made.schedule;
    if (schedule->queue.n == 0)
        schedule->queue = schedule->policy.queue;
    json_t *object = table_show(arena, &schedule_table, &draft);
    if (schedule->every_us == 0)
        json_object_set_new(object, "every", json_null());
    return object;
}

static json_t *show_schedules(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config *config = (const void *)((const char *)from
                                                 - offsetof(struct config, schedules));
    json_t *object = json_object();
    for (size_t i = 0; i < config->schedule_count; i++) {
        struct str name = config->schedules[i].schedule.name;
        json_object_setn_new(object, name.s, name.n, show_schedule(arena, &config->schedules[i]));
    }
    return object;
}

const struct config_kind kind_schedules = { "section", read_schedules, show_schedules, NULL };
