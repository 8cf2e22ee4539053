// Queues: six are always there for jobs that wait, and the configuration may add others. Nothing
// waits in q:deadletter, so it has no row here.
#include "server/config_read.h"

#include "model/text_rule.h"

enum { WEIGHT_DEFAULT = 10, WEIGHT_CRITICAL = 100, QUEUES_MAX = 1000 };

static const struct config_queue builtin[] = {
    { { "q:critical", 10 }, WEIGHT_CRITICAL, 0, {0} },
    { { "q:default", 9 }, WEIGHT_DEFAULT, 0, {0} },
    { { "q:notifications", 15 }, WEIGHT_DEFAULT, 0, {0} },
    { { "q:planning", 10 }, WEIGHT_DEFAULT, 0, {0} },
    { { "q:exports", 9 }, WEIGHT_DEFAULT, 0, {0} },
    { { "q:maintenance", 13 }, WEIGHT_DEFAULT, 0, {0} },
};

// clang-format off
static const struct config_row rows[] = {
    { "weight", &kind_number, MEMBER(config_queue, weight), NULL,
      "its share of what is claimed while other queues are filled; else 10, and 100 for "
      "`q:critical`", 1, 1000 },
    { "depth", &kind_number, MEMBER(config_queue, depth), NULL,
      "how many jobs may wait in it, beyond which new ones are refused; 0 is no limit, the default "
      "except for `q:critical` (`limits.critical_depth`)", 0, 1000000000 },
    { "max_running", &kind_number, MEMBER(config_queue, limit.max_running), NULL,
      "how many of its jobs may run at once, in all processes together; else no limit",
      1, RUNNING_MAX },
    { "rate", &kind_rate, MEMBER(config_queue, limit.rate), NULL,
      "how many of its jobs may begin per time; else no limit" },
};
// clang-format on
const struct config_table queue_table = TABLE("queues.NAME", rows);

// Room for the built-in ones and `more`.
static struct config_queue *start(struct arena *arena, struct config *config, size_t more)
{
    struct config_queue *queues = arena_new(arena, struct config_queue, countof(builtin) + more);
    config->queue_count = 0;
    for (size_t i = 0; queues && i < countof(builtin); i++)
        queues[config->queue_count++] = builtin[i];
    if (queues)
        queues[0].depth = config->limits.critical_depth;
    config->queues = queues;
    return queues;
}

void queues_default(struct arena *arena, struct config *config)
{
    start(arena, config, 0);
}

static struct config_queue *find(struct config_queue *queues, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(queues[i].name, name))
            return &queues[i];
    return NULL;
}

static void read_queues(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *map, void *to)
{
    (void)row, (void)to;
    struct config *config = r->config;
    if (map->count > QUEUES_MAX) {
        wrong(r, map, "has %zu queues: at most %d are allowed", map->count, QUEUES_MAX);
        return;
    }
    struct config_queue *queues = start(r->arena, config, map->count);
    if (!queues || !node_is_map(r, map, "a map of queues"))
        return;
    for (const struct yaml_node *node = map->first; node; node = node->next) {
        const struct reading *at = SUB(r, node);
        struct config_queue *queue = find(queues, config->queue_count, node->key);
        if (str_eq(node->key, DEADLETTER_QUEUE))
            wrong_key(at, node, "holds dead letters: no job waits in it");
        else if (node->key.n > NAME_BYTES_MAX || !text_is_name(node->key))
            wrong_key(at, node, "the name of a queue must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        if (!node_is_map(at, node, "a map"))
            continue;
        if (!queue) {
            queue = &queues[config->queue_count++];
            *queue = (struct config_queue){ .name = node->key, .weight = WEIGHT_DEFAULT };
        }
        table_read(at, &queue_table, node, queue);
    }
}

static json_t *show_queues(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config *config = (const void *)((const char *)from
                                                 - offsetof(struct config, queues));
    json_t *object = json_object();
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        json_object_setn_new(object, queue->name.s, queue->name.n,
                             table_show(arena, &queue_table, queue));
    }
    return object;
}

const struct config_kind kind_queues = { "section", read_queues, show_queues, NULL };
