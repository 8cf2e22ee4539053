// The statements of later.h for PostgreSQL: one of them writes any number of rows.
#pragma once

#include "store/postgres.h"

enum { MANY_NAME_BYTES = 80 };
const char *many_name(enum query query, char name[static MANY_NAME_BYTES]);

// Prepares the statement for many rows, beside the one for one row, which must be prepared, and
// binds its parameters: an array each, as the server holds them. They live in `arena`.
CHECKED bool postgres_bind_many(struct postgres *postgres, struct arena *arena, enum query query,
                                const struct value *values, size_t rows, struct pawl_error *err);
