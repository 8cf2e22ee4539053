// The rows of one table, from one store into another: for transfer.c.
#pragma once

#include "engine/backup.h"

struct moving {
    struct tx *source;  // holds the source still; its arena is emptied after each piece
    struct db *target;
    const struct copy_audience *audience;
    int64_t done, total;  // rows
};

// How many rows it has.
CHECKED bool table_count(struct tx *tx, const struct copied_table *table, int64_t *count,
                         struct pawl_error *err);

CHECKED bool table_empty(struct tx *tx, const struct copied_table *table, bool *empty,
                         struct pawl_error *err);

// Copies what the target does not have yet.
CHECKED bool table_copy(struct moving *m, const struct copied_table *table, struct pawl_error *err);

// PAWL_DAMAGED when the target has not the very same rows.
CHECKED bool table_compare(struct moving *m, const struct copied_table *table,
                           struct pawl_error *err);
