// One target of alerts: how it is told, once, within its time.
#pragma once

#include <stdatomic.h>

#include "server/config.h"

struct alert_teller;

// `stop` ends a try that is under way; NULL: never. What it points at outlives the teller.
CHECKED bool teller_open(struct alert_teller **teller, const struct config_alert *target,
                         const _Atomic bool *stop, struct pawl_error *err);
void teller_close(struct alert_teller *teller);  // NULL is fine

struct telling {
    struct str kind, key, body;
};

enum { TOLD_BYTES_MAX = 256 };

struct told {
    bool delivered;
    int64_t asked_us;              // the target asks to be left alone for so long
    char detail[TOLD_BYTES_MAX];   // `status 500`, or why there was no answer: for people
};

// Tells it, and waits for its word. It was told when a webhook answers with 2xx and a command exits
// with 0; after anything else nobody knows, and it may be told again under the same key (OPS-17).
void teller_tell(struct alert_teller *teller, const struct telling *telling, struct told *told);
