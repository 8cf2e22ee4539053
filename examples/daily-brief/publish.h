// Published briefs: what the ten largest events of a day were, once the day is over, for ever.
#pragma once

#include <pawl.h>
#include <sqlite3.h>

// Publishes every day before that of `now` which has events told by more than one article and was
// not published yet. `published` counts them.
bool publish_days(sqlite3 *db, int64_t now, int64_t *published, struct pawl_error *err);
