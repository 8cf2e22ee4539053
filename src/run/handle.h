// What `struct pawl` is made of. The parts are opened by pawl.c and used by the files of this
// folder; nothing here is public.
#pragma once

#include "run/journal.h"
#include "run/pipeline.h"
#include "run/registry.h"

struct loans;
struct runner;

struct pawl {
    struct pawl_options options;  // defaults filled in; texts live in `arena`
    struct arena arena;           // lives as long as the handle
    struct virtual_world virtual_world;
    const struct world *world;
    struct caller caller;         // in whose name; each request gets its own request_id
    struct journal journal;
    struct registry registry;
    struct pipeline *pipeline;    // the writer

    pthread_mutex_t reading;      // guards the reader
    struct db *reader;            // NULL until it is needed

    struct runner *runner;        // NULL until pawl_start, or until a test runs jobs by hand
    struct loans *loans;          // NULL until pawl_begin
};
