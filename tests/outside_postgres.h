// PostgreSQL's half of outside.h.
#pragma once

#include "outside.h"

struct str postgres_make(const char *directory);
void postgres_remove(struct str url);
bool postgres_run(struct str url, const char *sql, outside_row tell, void *self);
