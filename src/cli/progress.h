// A progress bar on standard error, when that is a terminal; else nothing.
#pragma once

#include "base/world.h"

struct progress_bar {
    const struct world *world;
    const char *what;     // `verify`
    bool shown;
    int64_t drawn_at;     // monotonic: it is drawn a few times a second at most
};

void progress_show(struct progress_bar *bar, int64_t done, int64_t total);  // total 0: not known
void progress_hide(struct progress_bar *bar);  // before anything else is printed, and at the end
