// What every command needs besides its options: who asks, and an open store.
#pragma once

#include "cli/command.h"
#include "server/config.h"

// Fills the caller: the user who is logged in, and a fresh request id.
void session_caller(struct cli *cli);

enum store_use {
    STORE_READ,    // must exist; nothing is ever written
    STORE_CHANGE,  // must exist
    STORE_CREATE,  // made when it is not there
    STORE_LOOK,    // must exist; of any schema version, nothing is migrated
};

struct str session_store(const struct cli *cli);  // its URL

// Opens the store into cli->db; what was open is closed first.
CHECKED bool session_open(struct cli *cli, enum store_use use, struct pawl_error *err);
void session_close(struct cli *cli);

// The configuration of --config, or the one that is built in.
CHECKED bool session_config(struct cli *cli, struct config *config, struct pawl_error *err);

// Begins a transaction in the caller's name.
CHECKED bool session_begin(struct cli *cli, enum tx_mode mode, struct arena *arena, struct tx *tx,
                           struct pawl_error *err);
