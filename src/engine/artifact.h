// Artifacts: bytes with a checksum, of one org, which jobs work on and jobs bring about (OPS-24).
//
// The bytes are in a file (store/blob.h), what is known of them in a row. An artifact is there from
// the commit of its row on. A job of category transfer names its inputs in its payload
// (model/input.h), and a commit names the artifacts that it brings. An artifact never changes; it
// is removed on request, or when it is old and no job that is kept has to do with it.
#pragma once

#include "base/id.h"
#include "model/contract.h"
#include "store/db.h"

struct blob;
struct execution;
struct job;

enum { ARTIFACT_NAME_BYTES_MAX = 255, CONTENT_TYPE_BYTES_MAX = 128 };
#define CONTENT_TYPE_DEFAULT S("application/octet-stream")

struct artifact {
    struct id id;
    struct str org_id, project_id;  // no project: every one of its org
    struct str file;                // see blob.h
    struct str sha256;
    int64_t bytes;
    struct str content_type;
    struct str name;                // what people call it; may be empty
    struct str made_by;             // the actor
    pawl_time created_at;
    struct id job, execution;       // whose commit brought it; {0}: nobody's
    bool authoritative;             // the truth itself; else derived from it (OPS-9)
    int64_t org;                    // the store's own key
};

// Adds what is wrong with name, content type and project; gives it the caller's project if that has
// only one.
void artifact_check(const struct caller *caller, struct artifact *artifact,
                    struct problems *problems);

// Makes the row of a settled file. `artifact` says org, project, name and content type, and gets
// the rest.
CHECKED bool artifact_add(struct tx *tx, const struct blob *blob, struct artifact *artifact,
                          struct pawl_error *err);

// One that the caller may see: PAWL_NOT_FOUND for another's.
CHECKED bool artifact_load(struct tx *tx, struct id id, struct artifact *artifact,
                           struct pawl_error *err);

struct artifact_list {
    struct artifact *artifacts;
    size_t count;
    int64_t next;  // `before` of the next page; 0: that was all
};

// Those of the caller's org and projects, newest first, from the row key `before` on; 0: all. A
// page may be short and still have a next one.
CHECKED bool artifacts_find(struct tx *tx, int64_t before, int64_t limit,
                            struct artifact_list *list, struct pawl_error *err);

// What the commit of a job brought, oldest first. `job` must be one the caller may see.
CHECKED bool artifacts_of_job(struct tx *tx, int64_t job, struct artifact_list *list,
                              struct pawl_error *err);

// The artifact object of the interface.
void artifact_put(struct buf *out, const struct artifact *artifact);
json_t *artifact_json(struct arena *arena, const struct artifact *artifact);

// ----- jobs: inputs only of those whose policy has some (policy_has_inputs)

// Adds what is wrong with the inputs that a contract's payload names: each must be there, of its
// org, of its project or none, and have the checksum that is said. `prefix` as in contract_read.
CHECKED bool inputs_check(struct tx *tx, const struct contract *contract, const char *prefix,
                          struct problems *problems, struct pawl_error *err);

// Notes the inputs of a job that is being stored; they were checked.
CHECKED bool inputs_put(struct tx *tx, const struct job *job, struct pawl_error *err);

// Whether an input of the job is gone or cut short: then `why` says which. Empty: all are there.
CHECKED bool inputs_lost(struct tx *tx, const struct job *job, struct str *why,
                         struct pawl_error *err);

// Makes artifacts that were stored before the outputs of a job, in the transaction of its commit.
struct outputs {
    const struct id *ids;
    size_t count;
};
CHECKED bool outputs_put(struct tx *tx, const struct execution *execution,
                         const struct outputs *outputs, struct pawl_error *err);

// ----- removing: the row first; the files are the caller's to remove when that is committed

struct removed_files {
    struct str *files;  // for blob_remove
    size_t count;
};

// Removes artifacts that are older than `before` and that no job has to do with, at most `limit`.
// Fewer than that: there are no more.
CHECKED bool artifacts_remove_old(struct tx *tx, pawl_time before, size_t limit,
                                  struct removed_files *removed, struct pawl_error *err);

// Removes one that the caller may see. PAWL_CONFLICT, with the job, while one that works on it or
// brought it has not ended.
CHECKED bool artifact_remove(struct tx *tx, struct id id, struct artifact *artifact,
                             struct pawl_error *err);

// A job is about to be removed: what it worked on and brought about is no longer its own.
CHECKED bool artifacts_leave_job(struct tx *tx, int64_t job, struct pawl_error *err);

// Removes files that processes left behind when they died: without a row, and nobody holds them.
// Works on a read connection, so that it may be done at any time. Answers how many there were.
CHECKED bool artifacts_tidy(struct db *db, size_t *removed, struct pawl_error *err);
