// A chain of blocks, each twice the size of the one before it: a small request costs one malloc, a
// large one a handful, and nothing is ever moved, so pointers stay good until the end.

#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Under AddressSanitizer the unused part of a block is poisoned: an overrun inside an arena is
// found like one of malloc. Without the sanitizer these macros are empty.
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#endif

enum { ALIGN = 16, BLOCK_MIN = 1024, BLOCK_MAX = 1024 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t size;  // of `bytes`
    alignas(ALIGN) char bytes[];
};

_Static_assert(alignof(max_align_t) <= ALIGN, "aligned for any type");

static size_t next_size(const struct arena *arena)
{
    size_t last = arena->blocks ? arena->blocks->size + sizeof(struct arena_block) : 0;
    size_t next = last < BLOCK_MIN ? BLOCK_MIN : last * 2;
    return (next > BLOCK_MAX ? BLOCK_MAX : next) - sizeof(struct arena_block);
}

static bool grow(struct arena *arena, size_t bytes)
{
    size_t size = next_size(arena);
    if (size < bytes)
        size = bytes;
    struct arena_block *block = malloc(sizeof(*block) + size);
    if (!block)
        return false;
    block->older = arena->blocks;
    block->size = size;
    ASAN_POISON_MEMORY_REGION(block->bytes, size);
    arena->blocks = block;
    arena->used = 0;
    return true;
}

void *arena_raw(struct arena *arena, size_t bytes)
{
    // Half of the address space is out of reach anyway; below it no sum here can overflow.
    size_t rounded = bytes < SIZE_MAX / 2 ? (bytes + ALIGN - 1) / ALIGN * ALIGN : SIZE_MAX;
    bool fits = arena->blocks && rounded <= arena->blocks->size - arena->used;
    if (rounded == SIZE_MAX || (!fits && !grow(arena, rounded))) {
        arena->failed = true;
        return NULL;
    }
    char *memory = arena->blocks->bytes + arena->used;
    arena->used += rounded;
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    return memory;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    void *memory = arena_raw(arena, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *arena_array(struct arena *arena, size_t size, size_t count)
{
    size_t bytes;
    if (__builtin_mul_overflow(size, count, &bytes))
        bytes = SIZE_MAX;
    return arena_alloc(arena, bytes);
}

static void free_blocks(struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
}

void arena_end(struct arena *arena)
{
    free_blocks(arena->blocks);
    *arena = (struct arena){0};
}

// A block made for one huge value is not kept: one large request must not cost memory for ever.
void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;
    if (!kept || kept->size > BLOCK_MAX) {
        arena_end(arena);
        return;
    }
    free_blocks(kept->older);
    kept->older = NULL;
    ASAN_POISON_MEMORY_REGION(kept->bytes, kept->size);
    *arena = (struct arena){ .blocks = kept };
}
