// What the application itself keeps, in tables of its own in Pawl's store:
//
//     files      every file that was ever handed in, and the run that processes it
//     documents  per document the newest version that was processed
//     words      how often a document has a word
//
// A row of `files` and its job are written in one transaction, the other two by the job's commit.
#pragma once

#include <jansson.h>
#include <pawl.h>

struct file {
    char path[512];
    char name[128];      // "harbour.2"
    char document[128];  // "harbour": runs of one document never overlap
    int version;         // 2
    char job_id[PAWL_ID_BYTES];
    bool known;          // it was handed in before
};

bool catalogue_open(struct pawl *pawl, struct pawl_error *err);

// Takes a path apart; false when it is too long. "texts/harbour.2.txt" is version 2 of "harbour",
// "texts/orchard.txt" version 1 of "orchard".
bool file_named(struct file *file, const char *path);

// Hands a file in: finds the run it has, or enqueues one. `policy` NULL: as the handler says.
bool catalogue_submit(struct pawl *pawl, struct file *file, const char *policy,
                      struct pawl_error *err);

// Enqueues a new run for a file whose last one came to nothing.
bool catalogue_submit_again(struct pawl *pawl, struct file *file, const char *policy,
                            struct pawl_error *err);

// Stores what came out of a run, inside its commit. An older version never replaces a newer one.
bool catalogue_store(struct pawl_tx *tx, const char *job_id, const json_t *result,
                     struct pawl_error *err);

struct totals {
    int64_t documents, words, distinct;
};
bool catalogue_totals(struct pawl *pawl, struct totals *totals, struct pawl_error *err);
