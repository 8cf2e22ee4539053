// What an article is about, as a bag of words: folded, without the words every text has, stemmed.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BAG_TERMS_MAX = 160 };

struct term {
    uint64_t id;   // of the word: its hash, so that bags need no common dictionary
    float weight;
};

struct bag {
    struct term terms[BAG_TERMS_MAX];  // in the order of their ids, each once
    size_t count;
};

// Adds the words of a text, each with this weight. What no longer fits is left out.
void bag_add(struct bag *bag, const char *text, float weight);

// One word as bags know it, for tests: "Réfugiés" -> "refugie". "" when it says nothing.
void token_fold(const char *word, char *out, size_t size);
