// A growing array in an arena.
#pragma once

#include "base/arena.h"

struct list {
    struct arena *arena;
    void *items;
    size_t size, count, capacity;
};

struct list list_of(struct arena *arena, size_t item_size);
bool list_room(struct list *list, size_t more);  // for so many more; false: there is no memory
void *list_add(struct list *list);  // a zeroed item at the end; NULL when there is no memory
