// What the machine and SQLite can do at most: the control every figure of the engine is a part of.
#pragma once

#include "base/text.h"

// Plain inserts of the row of a job, with its indexes and nothing else, into a fresh SQLite file in
// `directory`, `batch` to a transaction, fsync on. Answers how many a second; ends the program when
// it cannot.
double control_inserts_per_s(const char *directory, long jobs, long batch, struct str payload);
