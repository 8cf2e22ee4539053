// The named queries and migrations of sql/, as tables made at build time by tools/embed_sql.py.
#pragma once

#include <stdbool.h>

#include "queries.gen.h"

struct query_row {
    const char *name;
    int arguments;
    const char *moves;      // `execution LEASED -> IN_PROGRESS; job …`: checked by the state tables
    const char *scans;      // why it may read a whole table; empty: it may not
    bool fleeting;          // what it writes need not outlive the machine
    const char *invariant;  // a row answered is a violation of this sentence
    const char *sqlite, *postgres;
};

enum dialect { DIALECT_SQLITE, DIALECT_POSTGRES, DIALECTS };

struct migration_row {
    int version;
    int since;  // programs that know this version go on beside it; 0: none does
    struct {
        const char *name;  // and a digest of its text: what a store was made with
        const char *text;
    } in[DIALECTS];
};

struct schema_name {
    const char *name;
    const char *kind;  // `table`, `index`, `trigger` or `view`
};

// A table that is copied into another store, and its statements (sql/copy.sql).
struct copied_table {
    const char *name;
    const char *types;  // a letter for each column: `i` a number, `t` a text
    int keys;           // how many of its columns, the first ones, are the key
    enum query count, read, last, insert;
    enum query empty;    // what the migrations put into it; QUERIES: nothing
    enum query counter;  // sets the counter of its ids; QUERIES: it has none
};

extern const struct copied_table copied_tables[];  // in the order of copying; ends with NULL
extern const struct query_row queries[QUERIES];
extern const struct migration_row migrations[];  // ends with version 0
extern const struct schema_name schema_names[];  // all that migrations make; ends with NULL
