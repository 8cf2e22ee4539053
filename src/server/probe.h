// The probe: whether the store can be written now, found out by doing it.
//
// It is an empty operation that is handed to the commit pipeline for a request that waits for it in
// the hub. The store may be anybody's for seconds: whoever asks goes his way before that, and the
// probe ends by itself.
#pragma once

#include "server/exchange.h"

struct probe;

// Hands a probe over; x waits for it in the hub until x->wait_until. NULL: `err` says why not.
struct probe *probe_begin(struct exchange *x, struct pawl_error *err);
void probe_end(struct probe *probe);  // nobody waits for it any more; NULL is fine

bool probe_done(const struct probe *probe);

// What it found, once it is done: PAWL_DISK_FULL also when only new jobs are refused.
struct pawl_error probe_error(const struct probe *probe);
