// An event is compared by the sum of its articles' vectors, which never has to be computed: its dot
// product with an article is the sum of the dot products, and its length follows from them.
//
//     |s + v|^2 = |s|^2 + 2 s.v + 1          cos(s, v) = s.v / |s|
#include "similar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct event {
    int64_t cluster, seed;
    int64_t first_at, last_at;
    double square;  // of the length of the sum of its articles
    double dot;     // of that sum with the article in question
};

struct comparison {
    struct story *stories;
    size_t count;
    size_t *event_of;       // of each story; `none` while it has none
    struct event *events;
    size_t event_count;
    const struct similar_terms *terms;
};

static const size_t none = (size_t)-1;

// ----- vectors

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// In how many stories a term is, from the sorted list of all terms of all of them.
static size_t found_in(const uint64_t *all, size_t count, uint64_t id)
{
    size_t edges[2];
    for (int edge = 0; edge < 2; edge++) {
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (edge == 0 ? all[middle] < id : all[middle] <= id)
                low = middle + 1;
            else
                high = middle;
        }
        edges[edge] = low;
    }
    return edges[1] - edges[0];
}

// Often in this article and in few others is what counts. The vector's length becomes one.
static void weigh(struct bag *bag, const uint64_t *all, size_t all_count, size_t stories)
{
    double square = 0;
    for (size_t i = 0; i < bag->count; i++) {
        double in = (double)found_in(all, all_count, bag->terms[i].id);
        double weight = (1 + log(bag->terms[i].weight)) * log(1 + (double)stories / in);
        bag->terms[i].weight = (float)weight;
        square += weight * weight;
    }
    for (size_t i = 0; i < bag->count; i++)
        bag->terms[i].weight = (float)(bag->terms[i].weight / sqrt(square));
}

static bool weigh_all(struct story *stories, size_t count)
{
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        total += stories[i].bag.count;
    uint64_t *all = malloc((total + 1) * sizeof(*all));
    if (!all)
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < stories[i].bag.count; k++)
            all[used++] = stories[i].bag.terms[k].id;
    qsort(all, used, sizeof(*all), by_id);
    for (size_t i = 0; i < count; i++)
        weigh(&stories[i].bag, all, used, count);
    free(all);
    return true;
}

static double dot(const struct bag *a, const struct bag *b)
{
    double sum = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct term *x = &a->terms[i], *y = &b->terms[k];
        if (x->id == y->id)
            sum += (double)x->weight * y->weight;
        i += x->id <= y->id;
        k += y->id <= x->id;
    }
    return sum;
}

// ----- events

static bool in_time(const struct comparison *c, const struct event *event, int64_t at)
{
    return at >= event->first_at - c->terms->window_s && at <= event->last_at + c->terms->window_s;
}

// What the events of its time have in common with this story.
static void compare(struct comparison *c, const struct story *story)
{
    for (size_t e = 0; e < c->event_count; e++)
        c->events[e].dot = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t e = c->event_of[i];
        if (e != none && in_time(c, &c->events[e], story->at))
            c->events[e].dot += dot(&c->stories[i].bag, &story->bag);
    }
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
        size_t e = event_with(c, story->cluster);
        if (e == none)
            e = new_event(c, story->cluster, story);
        c->events[e].dot = 0;
        for (size_t k = 0; k < i; k++)
            if (c->event_of[k] == e)
                c->events[e].dot += dot(&c->stories[k].bag, &story->bag);
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
    bool good = c.event_of && c.events && weigh_all(stories, count);
    if (good) {
        memset(c.event_of, 0xFF, count * sizeof(*c.event_of));
        place_decided(&c);
        decide_rest(&c);
    }
    free(c.event_of);
    free(c.events);
    return good;
}
