// Feeds: RSS 2.0 (and 0.9x), RSS 1.0 and Atom, from bytes that anybody may have written.
//
// A feed is taken as a whole or not at all. It may be hostile: nothing outside it is ever read, a
// document that declares entities is refused (they are how a kilobyte becomes a gigabyte), depth,
// texts and the number of articles have limits, and every encoding ends up as UTF-8.
#pragma once

#include <pawl.h>

enum { FEED_ARTICLES_MAX = 200 };

struct article {
    char url[1024];        // as the feed says it; never empty
    char title[300];       // plain text; never empty
    char summary[700];     // plain text
    int64_t published_at;  // seconds since 1970; 0: the feed does not say
};

struct feed {
    const char *kind;  // "RSS 2.0", "RSS 1.0", "Atom"
    struct article *articles;
    size_t count;
    size_t skipped;    // items without a link, without words, or past the limit
};

// Reads a feed. On false there is nothing to give back, and err says what is wrong and in which
// line. Give it back with feed_end.
bool feed_parse(struct feed *feed, const char *bytes, size_t length, struct pawl_error *err);
void feed_end(struct feed *feed);
