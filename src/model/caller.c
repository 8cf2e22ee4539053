// Who asks, and of which projects: what a caller that is limited to some of them may see, and where
// its jobs go (OPS-18).
#include "model/contract.h"

#include <assert.h>

static const char *const actor_types[] = {
    [ACTOR_USER] = "user",
    [ACTOR_SYSTEM] = "system",
    [ACTOR_API_KEY] = "api_key",
};
_Static_assert(countof(actor_types) == ACTOR_TYPES, "one name per type");

const char *actor_type_name(enum actor_type type)
{
    assert(type < ACTOR_TYPES);
    return actor_types[type];
}

bool actor_type_parse(struct str name, enum actor_type *type)
{
    for (unsigned i = 0; i < ACTOR_TYPES; i++)
        if (str_eq(name, str_of(actor_types[i])))
            return *type = (enum actor_type)i, true;
    return false;
}

bool caller_sees(const struct caller *caller, struct str project_id)
{
    if (!caller || caller->project_count == 0)
        return true;
    for (size_t i = 0; i < caller->project_count; i++)
        if (str_eq(caller->projects[i], project_id))
            return true;
    return false;
}

const char *caller_project(const struct caller *caller, struct str *project_id)
{
    if (!caller || caller->project_count == 0)
        return NULL;
    if (project_id->n == 0 && caller->project_count == 1)
        *project_id = caller->projects[0];
    if (project_id->n == 0)
        return "is needed: the key is limited to projects, and there is more than one";
    return caller_sees(caller, *project_id) ? NULL : "is not one of the projects of the key";
}
