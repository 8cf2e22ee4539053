// Limits on what runs and begins, gathered from the queues, the types and `limits`.
#include "server/config_read.h"

#include "base/list.h"

static void read_rate(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    (void)row;
    struct rate rate;
    if (!node_is_text(r, node, RATE_WANT))
        return;
    if (rate_parse(node->text, &rate))
        *(struct rate *)to = rate;
    else
        wrong(r, node, "must be %s", RATE_WANT);
}

static json_t *show_rate(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    struct str text = rate_text(arena, from);
    return text.n ? json_stringn(text.s, text.n) : json_null();
}

const struct config_kind kind_rate = { "rate", read_rate, show_rate, NULL };

static void add(struct list *wishes, enum limit_scope scope, struct str name,
                const struct limit *limit)
{
    struct limit_wish *wish = limit_says_nothing(limit) ? NULL : list_add(wishes);
    if (wish)
        *wish = (struct limit_wish){ scope, name, *limit };
}

void config_limits(struct arena *arena, const struct config *config, struct limit_wish **wishes,
                   size_t *count)
{
    struct list list = list_of(arena, sizeof(struct limit_wish));
    for (size_t i = 0; i < config->queue_count; i++)
        add(&list, LIMIT_QUEUE, config->queues[i].name, &config->queues[i].limit);
    for (size_t i = 0; i < config->type_count; i++) {
        const struct config_type *type = &config->types[i];
        add(&list, LIMIT_TYPE, type->type.name, &type->limit);
        add(&list, LIMIT_KEY, type->type.name, &type->key_limit);
    }
    add(&list, LIMIT_ORG, S(""), &config->limits.org);
    *wishes = list.items;
    *count = list.count;
}
