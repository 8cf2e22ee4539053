// The sealer: follows the audit trail a few seconds behind and seals it (engine/seal.h).
//
// A thread of its own, with a connection that only reads: hashes are computed beside the writer,
// who gets a few rows to insert. It works a tenth of the time at most, so that a busy store is
// sealed later and not slower. Several processes may have one each: whoever comes second is refused
// and looks again.
#pragma once

#include "base/error.h"

struct pawl;
struct sealer;

CHECKED bool sealer_open(struct sealer **sealer, struct pawl *pawl, struct pawl_error *err);
void sealer_close(struct sealer *sealer);  // NULL is fine
