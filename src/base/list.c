// Doubles when full; the outgrown array stays in the arena and dies with it.
#include "base/list.h"

#include <string.h>

struct list list_of(struct arena *arena, size_t item_size)
{
    return (struct list){ .arena = arena, .size = item_size };
}

void *list_add(struct list *list)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        void *items = arena_array(list->arena, list->size, capacity);
        if (!items)
            return NULL;
        if (list->count)
            memcpy(items, list->items, list->count * list->size);
        list->items = items;
        list->capacity = capacity;
    }
    void *item = (char *)list->items + list->size * list->count++;
    return memset(item, 0, list->size);  // a list that was cut short has used slots behind its end
}
