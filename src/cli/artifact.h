// Artifacts on the command line: a file here becomes one, and one becomes a file.
#pragma once

#include "base/hash.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "engine/artifact.h"

// Bytes that come from or go to a descriptor here, with their hash and a bar that shows how far it
// is.
struct flow {
    int fd;
    int64_t done, total;  // 0: not known
    struct hash_stream hash;
    struct progress_bar bar;
};

// Reads some. Answers how many: 0 at the end, -1 when the file cannot be read.
int64_t flow_read(struct flow *flow, void *bytes, size_t room);
bool flow_write(struct flow *flow, const void *bytes, size_t n);

// What is to be stored.
struct put {
    struct artifact artifact;   // name, content type and project; then all of it
    struct str sha256;          // of the file, where it could be read before; empty: it could not
    struct flow flow;
};

// Of both backends; see backend.h.
CHECKED bool store_artifact_put(struct cli *cli, struct put *put, json_t **artifact,
                                struct pawl_error *err);
CHECKED bool store_artifact(struct cli *cli, struct id id, json_t **artifact,
                            struct pawl_error *err);
CHECKED bool store_artifact_bytes(struct cli *cli, struct id id, struct flow *flow,
                                  struct pawl_error *err);
CHECKED bool store_artifact_remove(struct cli *cli, struct id id, json_t **artifact,
                                   struct pawl_error *err);
CHECKED bool server_artifact_remove(struct cli *cli, struct id id, json_t **artifact,
                                    struct pawl_error *err);
CHECKED bool server_artifact_put(struct cli *cli, struct put *put, json_t **artifact,
                                 struct pawl_error *err);
CHECKED bool server_artifact(struct cli *cli, struct id id, json_t **artifact,
                             struct pawl_error *err);
CHECKED bool server_artifact_bytes(struct cli *cli, struct id id, struct flow *flow,
                                   struct pawl_error *err);
