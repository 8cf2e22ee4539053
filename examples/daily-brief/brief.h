// What the three jobs share: where they read, what time it is, and the limits of the brief.
#pragma once

#include <jansson.h>
#include <pawl.h>
#include <sqlite3.h>

#include "diary.h"

struct brief {
    struct pawl *pawl;
    const char *store;       // for connections that only read
    int64_t as_of;           // the time it is taken to be; 0: the clock's
    int64_t keep_s;          // how long an article is kept that no brief refers to
    long fetch_timeout_ms;
    struct diary diary;
};

int64_t brief_now(const struct brief *brief);

// Hands over what a job's prepare found out, for its commit: takes the JSON and gives it back.
bool brief_found(struct pawl_run *run, json_t *found);

// The three handlers, each in a file of its own. Their effects are written in their commit, in the
// transaction that marks the job COMMITTED: all of a run or nothing.
bool ingest_register(struct brief *brief, struct pawl_error *err);   // brief.ingest
bool cluster_register(struct brief *brief, struct pawl_error *err);  // brief.cluster
bool retain_register(struct brief *brief, struct pawl_error *err);   // brief.retain
