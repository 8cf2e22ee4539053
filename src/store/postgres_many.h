// The statements of later.h for PostgreSQL: one of them writes any number of rows.
#pragma once

#include "store/postgres_wire.h"

// Makes the statement for many rows of the one for one row.
CHECKED bool postgres_for_many(struct postgres *postgres, struct phrase one, enum query query,
                               struct phrase *many, struct pawl_error *err);

// Binds its parameters: an array each, as the server holds them. They live in `arena`.
CHECKED bool postgres_bind_many(struct postgres *postgres, struct arena *arena, enum query query,
                                const struct value *values, size_t rows, struct pawl_error *err);
