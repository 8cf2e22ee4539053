// Doubles when full; the outgrown array stays in the arena and dies with it.
#include "base/list.h"

#include <stdint.h>
#include <string.h>

struct list list_of(struct arena *arena, size_t item_size)
{
    return (struct list){ .arena = arena, .size = item_size };
}

static bool grow(struct list *list, size_t capacity)
{
    size_t bytes;
    if (__builtin_mul_overflow(list->size, capacity, &bytes))
        bytes = SIZE_MAX;
    void *items = arena_raw(list->arena, bytes);
    if (!items)
        return false;
    if (list->count)
        memcpy(items, list->items, list->count * list->size);
    list->items = items;
    list->capacity = capacity;
    return true;
}

bool list_room(struct list *list, size_t more)
{
    size_t capacity;
    if (__builtin_add_overflow(list->count, more, &capacity))
        capacity = SIZE_MAX;
    return list->capacity >= capacity || grow(list, capacity);
}

void *list_add(struct list *list)
{
    size_t twice = list->capacity ? list->capacity * 2 : 8;
    if (list->count == list->capacity && !grow(list, twice))
        return NULL;
    void *item = (char *)list->items + list->size * list->count++;
    return memset(item, 0, list->size);
}
