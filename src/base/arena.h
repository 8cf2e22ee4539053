// Memory that dies together: one arena per request, tick or command.
//
// Nothing in it is freed singly. When the system has no memory left an allocation answers NULL and
// the arena remembers it in `failed`; a transaction whose arena failed refuses to commit, so a text
// that could not be copied can never be stored as an empty one.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;  // newest first
    size_t used;                 // of the newest block
    bool failed;
};

// Zeroed memory, aligned for any type; NULL when there is none left. `{0}` is an empty arena.
void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_raw(struct arena *arena, size_t bytes);  // the same, not zeroed: to be filled at once
void arena_end(struct arena *arena);    // frees everything; the arena is empty and usable again
void arena_reset(struct arena *arena);  // forgets everything, keeps one block for the next round

#define arena_new(arena, type, count) ((type *)arena_array((arena), sizeof(type), (count)))
void *arena_array(struct arena *arena, size_t size, size_t count);

// SCOPED(arena) struct arena a = {0};  ends when it goes out of scope. Works for every x_end.
#define SCOPED(kind) __attribute__((cleanup(kind##_end)))
