// What a word was most likely meant to be: for "did you mean ...?".
#pragma once

#include "base/text.h"

struct guess {
    const char *name;  // NULL: none is near
    size_t edits;      // that make the name of the word
};

// Tries a name: at most a third of a word may be wrong. Starts from {0}; the nearest one stays.
void guess_try(struct guess *guess, struct str word, const char *name);
