// Each operation points to the next one; the line knows where the next one is to be put.
#include "run/line.h"

void line_init(struct line *line)
{
    *line = (struct line){ .end = &line->first };
}

void line_add(struct line *line, struct operation *operation)
{
    operation->next = NULL;
    *line->end = operation;
    line->end = &operation->next;
    line->count++;
}

struct operation *line_take(struct line *line)
{
    struct operation *operation = line->first;
    if (!operation)
        return NULL;
    line->first = operation->next;
    line->count--;
    if (!line->first)
        line->end = &line->first;
    return operation;
}

void line_put_back(struct line *line, struct line *rest)
{
    if (!rest->first)
        return;
    *rest->end = line->first;
    if (!line->first)
        line->end = rest->end;
    line->first = rest->first;
    line->count += rest->count;
    line_init(rest);
}
