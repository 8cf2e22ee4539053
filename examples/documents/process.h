// How a document is processed: four steps, each with a durable result, then one commit.
#pragma once

#include <pawl.h>

struct processing {
    int64_t pace_us;    // a pause after each sentence, so that a person can watch
    const char *flaky;  // this file's index fails at its first try, to show a retry; NULL: none
};

// Registers the handler of `document.process`. `processing` must outlive the runner.
bool processing_register(struct pawl *pawl, struct processing *processing, struct pawl_error *err);
