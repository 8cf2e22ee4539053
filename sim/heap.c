// A binary heap in an array.
#include "heap.h"

#include <assert.h>
#include <stdlib.h>

static bool before(const struct event_due *a, const struct event_due *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct event_due *a, struct event_due *b)
{
    struct event_due kept = *a;
    *a = *b;
    *b = kept;
}

void heap_add(struct heap *heap, const struct event_due *event)
{
    if (heap->count == heap->room) {
        heap->room = heap->room ? heap->room * 2 : 64;
        heap->events = realloc(heap->events, heap->room * sizeof *heap->events);
        assert(heap->events);
    }
    size_t i = heap->count++;
    heap->events[i] = *event;
    heap->events[i].order = heap->made++;
    for (; i > 0 && before(&heap->events[i], &heap->events[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap->events[i], &heap->events[(i - 1) / 2]);
}

bool heap_take(struct heap *heap, struct event_due *event)
{
    if (heap->count == 0)
        return false;
    *event = heap->events[0];
    heap->events[0] = heap->events[--heap->count];
    for (size_t i = 0, child; (child = 2 * i + 1) < heap->count; i = child) {
        bool right = child + 1 < heap->count;
        if (right && before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!before(&heap->events[child], &heap->events[i]))
            break;
        swap(&heap->events[i], &heap->events[child]);
    }
    return true;
}

void heap_free(struct heap *heap)
{
    free(heap->events);
    *heap = (struct heap){0};
}
