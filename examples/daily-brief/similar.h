// Which articles tell of the same event: a pure decision over bags of words and times.
//
// Each article is compared, by the cosine of their TF-IDF vectors, with the events that have been
// in the news shortly before or after it, and joins the most similar one if that is similar enough;
// else it begins an event of its own. An article that has an event keeps it. The same articles in
// the same order always give the same answer.
#pragma once

#include <stdbool.h>

#include "tokens.h"

struct story {
    int64_t id;        // of the article
    int64_t at;        // when it was published
    int64_t cluster;   // the event it belongs to; 0: not decided yet
    int64_t seed;      // out: the article its new event began with; 0: the event is `cluster`
    struct bag bag;    // words in, TF-IDF of length one out
};

struct similar_terms {
    double threshold;  // of the cosine
    int64_t window_s;  // how long an event may be silent
};

// Decides for all that have none. The stories are in the order of their times, then ids. False when
// there is no memory.
bool similar_assign(struct story *stories, size_t count, const struct similar_terms *terms);
