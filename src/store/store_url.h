// The URL of a store: which database it names, what of it is Pawl's own, and how it is shown.
//
//     sqlite:PATH
//     postgres://USER@HOST/DATABASE?schema=NAME&files=DIRECTORY&pooler=transaction
//
// Behind postgres:// (or postgresql://) stands whatever libpq understands. Three options are
// Pawl's: `schema`, in which its tables are, `files`, the directory of artifacts, and `pooler`:
// between here and the server is one that gives a session away after each transaction, so that
// nothing can be left in it.
#pragma once

#include "base/arena.h"
#include "base/error.h"

bool url_names_file(struct str url);    // sqlite:FILE, and not one in memory
bool url_names_server(struct str url);  // postgres:// or postgresql://
bool url_is_pooled(struct str url);     // postgres://…?pooler=transaction

// The URL without its passwords: for everything that people or logs see.
struct str url_shown(struct arena *arena, struct str url);

// The parts of a PostgreSQL URL, in the arena.
struct server_url {
    const char *connect;  // for libpq: without the options that are Pawl's
    const char *shown;
    const char *schema;   // `pawl` unless it says otherwise
    const char *files;    // `pawl.artifacts` unless it says otherwise
    bool pooled;          // a session is ours for one transaction only
};
CHECKED bool server_url_parse(struct arena *arena, struct str url, struct server_url *parts,
                              struct pawl_error *err);
