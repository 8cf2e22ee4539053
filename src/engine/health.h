// What is wrong with a store that works: jobs that are stuck, processes that are gone, things that
// wait for a person.
//
// Each check is a row of a table: its name, what it looks for, and what to do about it.
#pragma once

#include "store/db.h"

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_BAD };

const char *health_name(enum health health);  // `ok`, `warn`, `bad`

struct finding {
    const char *check;
    enum health health;
    struct str found;
    const char *advice;  // what to do; empty for one that is fine
};

enum { HEALTH_CHECKS_MAX = 32 };

struct findings {
    struct finding list[HEALTH_CHECKS_MAX];
    size_t count;
};

// The advice is for one that is not fine.
void find(struct findings *findings, const char *check, enum health health, struct str found,
          const char *advice);

// Of a disk with so many bytes left.
enum health health_of_room(int64_t left, int64_t all);

// All checks of the store, of every org. Texts live in the transaction's arena.
CHECKED bool health_look(struct tx *tx, struct findings *findings, struct pawl_error *err);
