// The little that all three jobs do alike.
#include "brief.h"

#include <stdlib.h>

int64_t brief_now(const struct brief *brief)
{
    return brief->as_of ? brief->as_of : pawl_now(brief->pawl) / 1000000;
}

bool brief_found(struct pawl_run *run, json_t *found)
{
    char *text = found ? json_dumps(found, JSON_COMPACT) : NULL;
    json_decref(found);
    bool kept = text ? pawl_result(run, text)
                     : pawl_fail(run, PAWL_RESOURCE_LIMIT, "out of memory");
    free(text);
    return kept;
}
