// Damage done to a store behind Pawl's back, and the invariant of verify that must notice it.
#pragma once

struct damage {
    const char *invariant;
    const char *sql;  // on a store of rich_store.h, after `no_guards`
};

extern const struct damage damages[];  // ends with NULL

// Takes away what keeps damage out: triggers, unique indexes, CHECKs.
extern const char no_guards[];
