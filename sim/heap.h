// What happens next: events in the order of their time, and in the order of their making when two
// have the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;
struct sim;

typedef void sim_act(struct sim *sim, void *self, struct request *request);

struct event_due {
    int64_t at;
    uint64_t order;
    sim_act *act;
    void *self;
    struct request *request;
};

struct heap {
    struct event_due *events;
    size_t count, room;
    uint64_t made;
};

void heap_add(struct heap *heap, const struct event_due *event);
bool heap_take(struct heap *heap, struct event_due *event);  // false: there is none
void heap_free(struct heap *heap);
