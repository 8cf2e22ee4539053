// Where each mistake is made.
#include "planted.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "engine/execution.h"

enum planted planted_now;

static const struct {
    const char *name, *says;
    enum query query;        // whose text is changed ...
    const char *from, *to;   // ... here; NULL: it is not in a statement
} bugs[] = {
    [PLANTED_NONE] = { "none", "the engine as it is", 0, NULL, NULL },
};

const char *planted_name(enum planted planted)
{
    return planted < countof(bugs) ? bugs[planted].name : NULL;
}

const char *planted_says(enum planted planted)
{
    return bugs[planted].says;
}

void planted_set(enum planted planted)
{
    planted_now = planted;
}
