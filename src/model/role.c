// The table of the interface, row by row.
#include "model/role.h"

#include <assert.h>

#define OF_VIEWER MAY_READ

static const struct {
    const char *name;
    unsigned may;
    bool is_viewer;  // may see payloads where viewers may
} rows[] = {
    [ROLE_PRODUCER] = { "producer", MAY_ENQUEUE | MAY_READ | MAY_SEE_PAYLOAD | MAY_CANCEL
                                    | MAY_RETRY | MAY_ARTIFACT, false },
    [ROLE_WORKER] = { "worker", MAY_LEASE | MAY_ARTIFACT | MAY_READ | MAY_SEE_PAYLOAD, false },
    [ROLE_VIEWER] = { "viewer", OF_VIEWER, true },
    [ROLE_OPERATOR] = { "operator", OF_VIEWER | MAY_CANCEL | MAY_RETRY | MAY_CHANGE
                                    | MAY_DEADLETTER | MAY_QUEUES | MAY_SCHEDULES
                                    | MAY_ARTIFACT, true },
    [ROLE_ADMIN] = { "admin", MAY_EVERYTHING, false },
};
_Static_assert(countof(rows) == ROLES, "one row per role");

const char *permission_name(unsigned number)
{
    static const char *const names[] = {
        "enqueue", "read",     "see_payload", "cancel",     "retry",     "change",
        "lease",   "artifact", "queues",      "deadletter", "schedules", "keys",
    };
    _Static_assert(MAY_EVERYTHING == (1 << countof(names)) - 1, "one name per bit");
    return number < countof(names) ? names[number] : NULL;
}

const char *role_name(enum role role)
{
    assert((unsigned)role < ROLES);
    return rows[role].name;
}

bool role_parse(struct str name, enum role *role)
{
    for (unsigned i = 0; i < ROLES; i++)
        if (str_eq(name, str_of(rows[i].name)))
            return *role = (enum role)i, true;
    return false;
}

struct str role_names(void)
{
    return S("producer, worker, viewer, operator or admin");
}

bool role_may(enum role role, unsigned wanted)
{
    assert((unsigned)role < ROLES);
    return wanted != 0 && (rows[role].may & wanted) == wanted;
}

bool role_sees_payload(enum role role, bool viewer_sees_payload)
{
    if (role_may(role, MAY_SEE_PAYLOAD))
        return true;
    assert(rows[role].is_viewer);  // there are no others
    return viewer_sees_payload;
}
