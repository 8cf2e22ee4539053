// Roles: what the holder of a key may do. One table, and whatever is not in it is not allowed.
#pragma once

#include "base/text.h"

enum role { ROLE_PRODUCER, ROLE_WORKER, ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN, ROLES };

// A bit each, so that a route can say what it needs in one number.
enum permission {
    MAY_ENQUEUE = 1 << 0,      // store jobs, and submit those that are held
    MAY_READ = 1 << 1,         // jobs, executions, steps, logs, queues, workers, audit, events
    MAY_SEE_PAYLOAD = 1 << 2,  // the payload and the result of what it may read
    MAY_CANCEL = 1 << 3,
    MAY_RETRY = 1 << 4,
    MAY_CHANGE = 1 << 5,       // time, priority and queue of a waiting job
    MAY_LEASE = 1 << 6,        // leases, executions and steps, as a worker
    MAY_ARTIFACT = 1 << 7,     // store and fetch artifacts
    MAY_QUEUES = 1 << 8,       // pause, resume, purge
    MAY_DEADLETTER = 1 << 9,   // replay, discard, fix
    MAY_SCHEDULES = 1 << 10,   // put, delete, trigger, pause
    MAY_KEYS = 1 << 11,        // make, list and revoke keys of its org
    MAY_EVERYTHING = (1 << 12) - 1,
};

const char *permission_name(unsigned number);  // of the bit 1 << number; NULL: there is none

const char *role_name(enum role role);
bool role_parse(struct str name, enum role *role);
struct str role_names(void);  // for messages: `producer, worker, ...`

// Whether the role has every bit of `wanted`. An unknown bit, and none at all, is refused.
bool role_may(enum role role, unsigned wanted);

// A viewer, and an operator who is one too, sees payloads only where that is configured.
bool role_sees_payload(enum role role, bool viewer_sees_payload);
