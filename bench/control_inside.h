// What the control is on one kind of store.
#pragma once

#include "base/id.h"
#include "bench/control.h"

// The next row of a job: what differs from row to row.
struct control_row {
    struct id id;
    pawl_time now;
    char text[ID_TEXT + 1];  // the id, as its keys
};

// One connection with its statement.
struct control_kind {
    bool (*open)(void **connection, const char *where, bool first, struct pawl_error *err);
    bool (*execute)(void *connection, const char *sql, struct pawl_error *err);
    bool (*insert)(void *connection, const struct control_row *row, struct str payload,
                   struct pawl_error *err);
    const char *begin;
    long warm_up_bytes;  // inserted before anything is measured
    void (*close)(void *connection, bool last);  // NULL is fine
};

extern const struct control_kind control_sqlite, control_postgres;
