// How long what has ended is kept: a duration, or never removed.
#include "base/time_text.h"
#include "server/config_read.h"

static void read_keep(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    const char *want = "a duration such as 12h or 30d, or never";
    if (!node_is_text(r, node, want))
        return;
    if (str_eq(node->text, S("never")))
        *(int64_t *)to = 0;
    else
        kind_duration.read(r, row, node, to);
}

static json_t *show_keep(struct arena *arena, const struct config_row *row, const void *from)
{
    return *(const int64_t *)from ? kind_duration.show(arena, row, from) : json_string("never");
}

static struct str keep_text(struct arena *arena, int64_t bound)
{
    return kind_duration.bound(arena, bound);
}

const struct config_kind kind_keep = { "duration or `never`", read_keep, show_keep,
                                       keep_text };

#define KEEP_MIN SECONDS(1)
#define KEEP_MAX DAYS(36500)  // a hundred years

// clang-format off
static const struct config_row rows[] = {
    { "jobs", &kind_keep, MEMBER(config_retention, keep.jobs_us), "30d",
      "ended jobs with all that belongs to them, from their end on; a key's time to live counts "
      "before it, and an open dead letter stays", KEEP_MIN, KEEP_MAX },
    { "dead_letters", &kind_keep, MEMBER(config_retention, keep.letters_us), "90d",
      "the same for dead letters that were closed", KEEP_MIN, KEEP_MAX },
    { "logs", &kind_keep, MEMBER(config_retention, keep.logs_us), "14d",
      "what commands said on stderr, from the end of their job on", KEEP_MIN, KEEP_MAX },
    { "artifacts", &kind_keep, MEMBER(config_retention, keep.artifacts_us), "30d",
      "artifacts that no job has to do with, or not any more, from their upload on", KEEP_MIN,
      KEEP_MAX },
    { "audit", &kind_keep, MEMBER(config_retention, keep.audit_us), "400d",
      "audit events; they leave in whole seals", KEEP_MIN, KEEP_MAX },
    { "rate", &kind_number, MEMBER(config_retention, rate), "5000",
      "rows a second that are removed at most", 1, 1000000 },
};
// clang-format on
const struct config_table retention_table = TABLE("retention", rows);
