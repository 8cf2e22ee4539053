// An event is compared by the sum of its articles' vectors, which never has to be computed: its dot
// product with an article is the sum of the dot products, and its length follows from them.
//
//     |s + v|^2 = |s|^2 + 2 s.v + 1          cos(s, v) = s.v / |s|
//
// Those come from an index of which article has which term, so that an article costs only what it
// has in common with others.
#include "similar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A term of a story.
struct posting {
    uint64_t term;
    size_t story;
    float weight;
};

struct event {
    int64_t cluster, seed;
    int64_t first_at, last_at;
    double square;  // of the length of the sum of its articles
    double dot;     // of that sum with the article in question
};

struct comparison {
    struct story *stories;
    size_t count;
    struct posting *index;  // in the order of their terms, then stories
    size_t index_count;
    size_t *event_of;       // of each story; `none` while it has none
    struct event *events;
    size_t event_count;
    const struct similar_terms *terms;
};

static const size_t none = (size_t)-1;

// ----- the index

static int by_term(const void *a, const void *b)
{
    const struct posting *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->story < y->story ? -1 : x->story > y->story;
}

static bool make_index(struct comparison *c)
{
    size_t total = 0;
    for (size_t i = 0; i < c->count; i++)
        total += c->stories[i].bag.count;
    c->index = calloc(total + 1, sizeof(*c->index));
    if (!c->index)
        return false;
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->stories[i].bag.count; k++)
            c->index[c->index_count++] = (struct posting){ c->stories[i].bag.terms[k].id, i, 0 };
    qsort(c->index, c->index_count, sizeof(*c->index), by_term);
    return true;
}

// The first posting of a term that is not before this story.
static struct posting *find(const struct comparison *c, uint64_t term, size_t story)
{
    struct posting wanted = { .term = term, .story = story };
    size_t low = 0, high = c->index_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_term(&c->index[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return &c->index[low];
}

// Often in this article and in few others is what counts. The vector's length becomes one.
static void weigh(struct comparison *c, size_t story)
{
    struct bag *bag = &c->stories[story].bag;
    double square = 0;
    for (size_t i = 0; i < bag->count; i++) {
        uint64_t term = bag->terms[i].id;
        double in = (double)(find(c, term, none) - find(c, term, 0));
        double weight = (1 + log(bag->terms[i].weight)) * log(1 + (double)c->count / in);
        bag->terms[i].weight = (float)weight;
        square += weight * weight;
    }
    for (size_t i = 0; i < bag->count; i++) {
        bag->terms[i].weight = (float)(bag->terms[i].weight / sqrt(square));
        find(c, bag->terms[i].id, story)->weight = bag->terms[i].weight;
    }
}

// ----- events

// What every event has in common with this story.
static void compare(struct comparison *c, const struct story *story)
{
    for (size_t e = 0; e < c->event_count; e++)
        c->events[e].dot = 0;
    const struct posting *end = c->index + c->index_count;
    for (size_t i = 0; i < story->bag.count; i++) {
        const struct term *term = &story->bag.terms[i];
        for (struct posting *p = find(c, term->id, 0); p < end && p->term == term->id; p++)
            if (c->event_of[p->story] != none)
                c->events[c->event_of[p->story]].dot += (double)term->weight * p->weight;
    }
}

static bool in_time(const struct comparison *c, const struct event *event, int64_t at)
{
    return at >= event->first_at - c->terms->window_s && at <= event->last_at + c->terms->window_s;
}

static size_t most_similar(const struct comparison *c, int64_t at)
{
    size_t best = none;
    double best_cosine = c->terms->threshold;
    for (size_t e = 0; e < c->event_count; e++) {
        double cosine = c->events[e].dot / sqrt(c->events[e].square);
        if (cosine >= best_cosine && in_time(c, &c->events[e], at)) {
            best = e;
            best_cosine = nextafter(cosine, 2);  // of equal ones the first
        }
    }
    return best;
}

static size_t new_event(struct comparison *c, int64_t cluster, const struct story *seed)
{
    c->events[c->event_count] = (struct event){
        .cluster = cluster,
        .seed = cluster ? 0 : seed->id,
        .first_at = seed->at,
        .last_at = seed->at,
    };
    return c->event_count++;
}

static void join(struct comparison *c, size_t i, size_t e)
{
    struct event *event = &c->events[e];
    const struct story *story = &c->stories[i];
    event->square += 2 * event->dot + 1;
    event->first_at = story->at < event->first_at ? story->at : event->first_at;
    event->last_at = story->at > event->last_at ? story->at : event->last_at;
    c->event_of[i] = e;
}

static size_t event_with(const struct comparison *c, int64_t cluster)
{
    for (size_t e = 0; e < c->event_count; e++)
        if (c->events[e].cluster == cluster)
            return e;
    return none;
}

// Those that have an event, first: what is decided is what new articles are compared with.
static void place_decided(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct story *story = &c->stories[i];
        if (story->cluster == 0)
            continue;
        compare(c, story);
        size_t e = event_with(c, story->cluster);
        if (e == none)
            e = new_event(c, story->cluster, story);
        join(c, i, e);
    }
}

static void decide_rest(struct comparison *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct story *story = &c->stories[i];
        if (story->cluster != 0)
            continue;
        compare(c, story);
        size_t e = most_similar(c, story->at);
        if (e == none)
            e = new_event(c, 0, story);
        join(c, i, e);
        story->cluster = c->events[e].cluster;
        story->seed = c->events[e].seed;
    }
}

bool similar_assign(struct story *stories, size_t count, const struct similar_terms *terms)
{
    struct comparison c = { .stories = stories, .count = count, .terms = terms };
    c.event_of = malloc((count + 1) * sizeof(*c.event_of));
    c.events = calloc(count + 1, sizeof(*c.events));
    bool good = c.event_of && c.events && make_index(&c);
    if (good) {
        memset(c.event_of, 0xFF, count * sizeof(*c.event_of));
        for (size_t i = 0; i < count; i++)
            weigh(&c, i);
        place_decided(&c);
        decide_rest(&c);
    }
    free(c.index);
    free(c.event_of);
    free(c.events);
    return good;
}
