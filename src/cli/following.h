// Whoever types `pawl backup`, `restore` or `copy` follows it: a bar for each stage, and what is
// found wrong as it is found, on standard error.
#pragma once

#include "cli/progress.h"
#include "engine/backup.h"

struct following {
    struct progress_bar bar;  // its world is set
};

struct copy_audience following_audience(struct following *following);
