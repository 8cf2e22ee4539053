// Reading a configuration by tables: a key's name, kind, bounds, default and meaning share one row.
//
// A table is read into a struct: each row says where in it its value goes. Keys that no row knows
// are refused, with the one that was probably meant.
#pragma once

#include "server/config.h"

// Where reading is.
struct reading {
    struct arena *arena;
    struct yaml_faults *faults;
    struct config *config;         // what is complete of it
    const struct yaml_path *path;  // of the value that is read
};

struct config_row;

// A kind of values: how one is written down, read, and shown again.
struct config_kind {
    const char *form;  // for people: `duration`
    void (*read)(const struct reading *r, const struct config_row *row,
                 const struct yaml_node *node, void *to);
    json_t *(*show)(struct arena *arena, const struct config_row *row, const void *from);
    struct str (*bound)(struct arena *arena, int64_t bound);  // NULL: it has none
};

struct config_table;

struct config_row {
    const char *key;
    const struct config_kind *kind;
    size_t offset, bytes;              // of the member of the struct
    const char *initial;               // its default as it is written in the file; NULL: none
    const char *meaning;
    int64_t min, max;                  // of numbers, durations and sizes; bytes of a text
    const char *const *words;          // of a choice, NULL last; the value is the index
    const struct config_table *table;  // of a section
};

struct config_table {
    const char *name;  // `limits`, `policies.NAME`
    const struct config_row *rows;
    size_t count;
};

#define MEMBER(type, member) \
    .offset = offsetof(struct type, member), .bytes = sizeof(((struct type *)0)->member)
#define TABLE(title, list)                                  \
    {                                                       \
        .name = title, .rows = list, .count = countof(list) \
    }

extern const struct config_kind kind_text;      // 1 to `max` bytes, one line or more
extern const struct config_kind kind_name;      // as queues and instances are called
extern const struct config_kind kind_queue;     // a name, but not q:deadletter
extern const struct config_kind kind_switch;    // true or false
extern const struct config_kind kind_number;
extern const struct config_kind kind_duration;
extern const struct config_kind kind_size;
extern const struct config_kind kind_rate;      // 10/m, 100/s burst 5
extern const struct config_kind kind_choice;
extern const struct config_kind kind_section;   // a map with a table of its own

// What is wrong with a node, or with the key of one. Answers false.
bool wrong(const struct reading *r, const struct yaml_node *node, const char *format, ...)
    PRINTF(3, 4);
bool wrong_key(const struct reading *r, const struct yaml_node *node, const char *format, ...)
    PRINTF(3, 4);

// The reading of a member of a map or list: SUB(r, node) lives as long as the block it is in.
#define SUB(r, node) (&(struct reading){ (r)->arena, (r)->faults, (r)->config, \
                                         &(struct yaml_path){ (r)->path, (node)->key, 0 } })

// True when the node is a map; nothing at all is an empty one. `want` completes "must be ...".
bool node_is_map(const struct reading *r, const struct yaml_node *node, const char *want);
bool node_is_text(const struct reading *r, const struct yaml_node *node, const char *want);

const struct yaml_node *node_find(const struct yaml_node *map, const char *key);  // NULL: none

// Puts every row's default into the struct.
void table_defaults(const struct reading *r, const struct config_table *table, void *into);

// Reads a map into the struct, row by row in the order of the table.
void table_read(const struct reading *r, const struct config_table *table,
                const struct yaml_node *map, void *into);

// The struct as a JSON object, rows without a way to be shown left out. The caller owns it.
json_t *table_show(struct arena *arena, const struct config_table *table, const void *from);

// The table as Markdown, with a heading.
void table_describe(const struct config_table *table, struct buf *page);

// The tables of the file, in the order in which people should meet them; NULL past the end.
const struct config_table *config_table(size_t index);

// ----- the parts of the file

extern const struct config_table policy_table, queue_table, type_table, schedule_table;
extern const struct config_table retention_table;
extern const struct config_kind kind_keep;      // a duration, or never
extern const struct config_kind kind_policies, kind_queues, kind_types, kind_schedules;
extern const struct config_table alert_table, tracing_table;
extern const struct config_kind kind_alerts;
extern const struct config_kind kind_url;      // may be a secret: never shown
extern const struct config_kind kind_headers;  // a file with lines `Name: value`: never shown
extern const struct config_kind kind_secret;   // a file of at least 16 bytes: never shown

void queues_default(struct arena *arena, struct config *config);

// A path as it is meant in the file: relative to the file's directory.
const char *path_from(const struct reading *r, struct str path);

// The contents of the file that a node names, without the end of its last line.
bool file_contents(const struct reading *r, const struct yaml_node *node, struct str *value);

// A command: the program's path and its words. Refuses a program that cannot be run.
extern const struct config_kind kind_command;
// Variables of its environment, secrets from files and from our own.
extern const struct config_kind kind_environment;
