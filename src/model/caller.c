// Projects: what a caller that is limited to some of them may see, and where its jobs go (OPS-18).
#include "model/contract.h"

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
