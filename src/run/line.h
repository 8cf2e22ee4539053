// A line of operations: whoever comes first is served first.
#pragma once

#include "run/pipeline.h"

struct line {
    struct operation *first, **end;
    size_t count;
};

void line_init(struct line *line);
void line_add(struct line *line, struct operation *operation);
struct operation *line_take(struct line *line);  // NULL: nobody waits

// All of `rest` waits again, before those who wait already.
void line_put_back(struct line *line, struct line *rest);
