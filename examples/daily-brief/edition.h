// The brief of one day, read from the tables: what the terminal, the page and /brief.json all show.
//
//     { "day", "title", "previous", "next",                  the days around it that have news
//       "events": [{ "title", "summary", "article_count", "outlets", "first_at", "last_at",
//                    "articles": [{ "title", "url", "outlet", "published_at" }] }],
//       "article_count", "feeds": [{ "name", "error" }] }
#pragma once

#include <jansson.h>
#include <pawl.h>
#include <sqlite3.h>

// `day` NULL: that of `now` or, if it has no news, the last one before it that has. The events with
// most articles come first. NULL when it cannot be read, or the day is none.
json_t *edition_load(sqlite3 *db, const char *day, int64_t now, struct pawl_error *err);
