// A fuzz target is a file NAME_fuzz.c with this function. `make fuzz-NAME` lets libFuzzer loose on
// it; `make test` only gives it the files of fuzz/corpus/NAME, by replay.c.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Answers 0. What must never happen is an assert.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
