// What somebody outside can cause as often as he likes is said once a minute, with how often it
// happened since it was said last.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// One for each thing that is said. From any thread.
struct seldom {
    _Atomic int64_t next;  // monotonic: it is not said before; 0: it never was
    _Atomic int64_t count;
};

// It happened once more. True: it is to be said now, and happened `times` since.
bool seldom_due(struct seldom *seldom, int64_t now, int64_t *times);
