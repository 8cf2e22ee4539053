// Artifacts of a store that is opened here.
#include <unistd.h>

#include "cli/artifact.h"
#include "cli/session.h"
#include "store/blob.h"

enum { BLOCK_BYTES = 64 << 10 };

static bool fill(struct put *put, struct blob *blob, struct pawl_error *err)
{
    char block[BLOCK_BYTES];
    int64_t n = 0;
    while ((n = flow_read(&put->flow, block, sizeof block)) > 0)
        if (!blob_write(blob, block, (size_t)n, err))
            return false;
    return n == 0 || fail(err, PAWL_STORE, "the file cannot be read");
}

// The file first, then its row.
static bool make(struct cli *cli, struct put *put, struct blob *blob, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return blob_create(db_files(cli->db), cli->world, blob, err) && fill(put, blob, err)
        && blob_settle(blob, err) && session_begin(cli, TX_WRITE, &cli->arena, &tx, err)
        && artifact_add(&tx, blob, &put->artifact, err) && tx_commit(&tx, err);
}

bool store_artifact_put(struct cli *cli, struct put *put, json_t **artifact,
                        struct pawl_error *err)
{
    struct blob blob = {0};
    put->artifact.org_id = cli->caller.org_id;
    artifact_check(&cli->caller, &put->artifact, &cli->problems);
    if (!problems_none(&cli->problems, err) || !session_open(cli, STORE_CREATE, err))
        return false;
    bool made = make(cli, put, &blob, err);
    if (made || err->code == PAWL_IN_DOUBT)
        blob_keep(&blob);
    else
        blob_drop(&blob);
    *artifact = made ? artifact_json(&cli->arena, &put->artifact) : NULL;
    return made && (*artifact || fail(err, PAWL_NO_MEMORY, "no memory for the answer"));
}

static bool load(struct cli *cli, struct id id, struct artifact *artifact, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");  // whoever has the store sees every org
    return (cli->db || session_open(cli, STORE_READ, err))
        && session_begin(cli, TX_READ, &cli->arena, &tx, err)
        && artifact_load(&tx, id, artifact, err);
}

bool store_artifact(struct cli *cli, struct id id, json_t **artifact, struct pawl_error *err)
{
    struct artifact found;
    if (!load(cli, id, &found, err))
        return false;
    *artifact = artifact_json(&cli->arena, &found);
    return *artifact || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

// The row first. A file that cannot be removed is left behind, as by a process that died.
bool store_artifact_remove(struct cli *cli, struct id id, json_t **artifact,
                           struct pawl_error *err)
{
    struct artifact gone;
    SCOPED(tx) struct tx tx = {0};
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");
    if (!session_open(cli, STORE_CHANGE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err)
        || !artifact_remove(&tx, id, &gone, err) || !tx_commit(&tx, err))
        return false;
    (void)!blob_remove(db_files(cli->db), gone.file, NULL);
    *artifact = artifact_json(&cli->arena, &gone);
    return *artifact || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

bool store_artifact_bytes(struct cli *cli, struct id id, struct flow *flow, struct pawl_error *err)
{
    struct artifact found;
    char block[BLOCK_BYTES];
    struct pawl_error why = {0};
    int fd = -1;
    ssize_t n = 0;
    if (!load(cli, id, &found, err))
        return false;
    if (!blob_open(db_files(cli->db), found.file, found.bytes, &fd, &why))
        return fail(err, why.code, "artifact %.*s: %s", STR(id_text(&cli->arena, id)),
                    why.message);
    bool written = true;
    while (written && (n = read(fd, block, sizeof block)) > 0)
        written = flow_write(flow, block, (size_t)n);
    close(fd);
    if (!written)
        return fail(err, PAWL_STORE, "the bytes cannot be written");
    return n == 0 || fail(err, PAWL_STORE, "the file of the artifact cannot be read");
}
