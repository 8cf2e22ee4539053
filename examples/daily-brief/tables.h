// The tables of the Daily Brief, in the store's own file:
//
//     feeds             what is read, what its server said last (ETag), what is wrong with it
//     feed_log          a line when a feed breaks, breaks in another way, or mends
//     raw_articles      every article once, by its address
//     event_clusters    events, and how many articles tell of each
//     cluster_articles  which ones; an article tells of one event
//     published_briefs  editions of days that are over, and
//     brief_items       what was in them: both are never changed, and what they refer to stays
//
// Times are seconds since 1970. Pawl's own table `job_runs` has when which job ran.
#pragma once

#include <pawl.h>

// Makes those that are missing.
bool tables_make(struct pawl *pawl, struct pawl_error *err);

// Takes over the list of feeds: a line each, with a name, a `|`, and an address or a path, which
// counts from the list's own directory; `#` begins a comment. Feeds that are no longer in it are
// kept and no longer read. Every bad line is named.
bool tables_set_feeds(struct pawl *pawl, const char *list_path, struct pawl_error *err);
