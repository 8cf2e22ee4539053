// Aside: what would hold up the thread that serves all connections, or the one that writes.
//
// A file that was uploaded has to be on disk before its row is written, and that takes as long as
// the disk needs. Exchanges wait for it suspended; they are as many as there are connections.
#pragma once

#include "base/error.h"

struct aside;
struct exchange;

CHECKED bool aside_open(struct aside **aside, struct pawl_error *err);
void aside_close(struct aside *aside);  // nobody may wait any more; NULL is fine

// Runs the `settle` of an exchange that is suspended, then hands it to the commit pipeline. What is
// refused is answered at once.
void aside_do(struct aside *aside, struct exchange *x);
