// Rows that are written together: they are many, and nobody in their transaction looks at them.
//
// A statement for many rows costs half as much per row as one for each, and much less where the
// database is at the end of a wire. So a few statements are held back until there are enough of
// them, or until one runs that names their table: whoever looks sees them. A row that the database
// refuses is refused then, and with it the transaction.
#pragma once

#include "store/db.h"

struct later *later_new(size_t rows_max);  // held of one statement. NULL: no memory
void later_free(struct later *later);  // NULL is fine

// Which rows that are held a statement could miss, as a set for later_run.
#define LATER_ALL (~0u)
unsigned later_before(const struct later *later, enum query query);

// Writes what is held of these.
CHECKED bool later_run(struct tx *tx, unsigned which, struct pawl_error *err);
void later_drop(struct later *later);  // the transaction is over, or its last part is taken back
