// Two reports of one event share names, places and nouns, and differ in endings, accents and case.
// So letters are folded to plain small ones, a few English endings are cut off, and words that
// stand in every text are dropped. Other alphabets than Latin keep their letters.
#include "tokens.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define countof(array) (sizeof(array) / sizeof((array)[0]))

enum { WORD_BYTES = 48 };

// ----- letters

// U+00C0 to U+017F, a letter each; '*' is none.
static const char latin[] =
    "aaaaaaaceeeeiiiidnooooo*ouuuuypsaaaaaaaceeeeiiiidnooooo*ouuuuypy"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
    "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
_Static_assert(sizeof(latin) == 0x180 - 0xC0 + 1, "a letter for each");

// The next character of a text that is well-formed, as plain_text makes it; 0 at its end.
static unsigned next_code(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    unsigned code = *p;
    size_t more = code < 0xC0 ? 0 : code < 0xE0 ? 1
                              : code < 0xF0     ? 2
                                                : 3;
    if (more > 0)
        code &= 0x3Fu >> more;
    size_t used = code || more ? 1 : 0;
    for (; more > 0 && p[used]; more--)
        code = code << 6 | (p[used++] & 0x3F);
    *text += used;
    return code;
}

static bool in(unsigned code, unsigned first, unsigned last)
{
    return code >= first && code <= last;
}

// A small plain letter or digit; what is no part of a word is 0.
static unsigned fold(unsigned code)
{
    if (in(code, 'A', 'Z'))
        return code + 32;
    if (in(code, 'a', 'z') || in(code, '0', '9'))
        return code;
    if (in(code, 0xC0, 0x17F))
        return latin[code - 0xC0] == '*' ? 0 : (unsigned)latin[code - 0xC0];
    if (in(code, 0x391, 0x3A9) || in(code, 0x410, 0x42F))  // Greek, Cyrillic
        return code + 32;
    if (in(code, 0x400, 0x40F))
        return code + 80;
    bool mark = code < 0xC0 || in(code, 0x2000, 0x2BFF) || in(code, 0x3000, 0x303F)
        || in(code, 0xFE00, 0xFE0F) || code == 0xFFFD || code >= 0x1F000;
    return mark ? 0 : code;
}

static size_t put(unsigned code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3
                                                     : 4;
    static const unsigned char lead[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = bytes; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

// Takes the next word from a text; false at its end. An apostrophe ends a word: "city's" is city.
static bool next_word(const char **text, char word[WORD_BYTES])
{
    size_t used = 0;
    while (**text) {
        unsigned code = fold(next_code(text));
        if (code == 0 && used > 0)
            break;
        if (code != 0 && used < WORD_BYTES - 5)
            used += put(code, word + used);
    }
    word[used] = 0;
    return used > 0;
}

// ----- words

// In the order of strcmp, for bsearch.
static const char *const stops[] = {
    "a", "about", "after", "again", "all", "also", "amid", "among", "an", "and", "another", "any",
    "are", "as", "at", "back", "be", "because", "been", "before", "being", "between", "both", "but",
    "by", "can", "could", "day", "did", "do", "does", "down", "during", "each", "even", "expected",
    "few", "first", "five", "for", "four", "from", "get", "had", "has", "have", "he", "her", "here",
    "him", "his", "how", "hundreds", "if", "in", "into", "is", "it", "its", "just", "last", "late",
    "later", "least", "like", "made", "make", "many", "may", "more", "most", "much", "near",
    "nearly", "new", "next", "no", "not", "now", "of", "off", "officials", "on", "one", "only",
    "or", "other", "our", "out", "over", "own", "people", "report", "reports", "s", "said", "same",
    "say", "says", "she", "should", "since", "six", "so", "some", "still", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "thousands",
    "three", "through", "time", "to", "today", "too", "two", "under", "until", "up", "us", "very",
    "was", "way", "we", "week", "were", "what", "when", "where", "which", "while", "who", "will",
    "with", "would", "year", "years", "yesterday", "you", "your",
};

static int by_text(const void *word, const void *row)
{
    return strcmp(word, *(const char *const *)row);
}

static bool is_stop(const char *word)
{
    return bsearch(word, stops, countof(stops), sizeof(stops[0]), by_text) != NULL;
}

// Endings, the longest first, with what takes their place; what is left must have some length.
static const struct {
    const char *ending, *instead;
    size_t left_min;
} endings[] = {
    { "ations", "at", 3 }, { "ation", "at", 3 }, { "ments", "", 4 }, { "ment", "", 4 },
    { "ings", "", 3 }, { "ing", "", 3 }, { "sses", "ss", 2 }, { "ies", "y", 2 }, { "ied", "y", 2 },
    { "ers", "", 4 }, { "ed", "", 3 }, { "er", "", 4 }, { "ss", "ss", 0 }, { "us", "us", 0 },
    { "is", "is", 0 }, { "es", "", 3 }, { "s", "", 3 }, { "e", "", 3 },
};

static void stem(char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i < countof(endings); i++) {
        size_t cut = strlen(endings[i].ending);
        if (length < cut + endings[i].left_min
            || strcmp(word + length - cut, endings[i].ending) != 0)
            continue;
        snprintf(word + length - cut, WORD_BYTES - (length - cut), "%s", endings[i].instead);
        break;
    }
    // stopped, stopping -> stop
    length = strlen(word);
    if (length > 3 && word[length - 1] == word[length - 2] && !strchr("lsz", word[length - 1]))
        word[length - 1] = 0;
}

// False when the word says nothing: too common, or a letter on its own.
static bool tells(char word[WORD_BYTES])
{
    if (!word[1] || is_stop(word))
        return false;
    stem(word);
    return true;
}

void token_fold(const char *word, char *out, size_t size)
{
    char folded[WORD_BYTES];
    bool told = next_word(&word, folded) && tells(folded);
    snprintf(out, size, "%s", told ? folded : "");
}

// ----- the bag

static uint64_t hash(const char *word)  // FNV-1a
{
    uint64_t value = 14695981039346656037u;
    for (; *word; word++)
        value = (value ^ (unsigned char)*word) * 1099511628211u;
    return value;
}

static void add_term(struct bag *bag, uint64_t id, float weight)
{
    size_t low = 0, high = bag->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bag->terms[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < bag->count && bag->terms[low].id == id) {
        bag->terms[low].weight += weight;
        return;
    }
    if (bag->count == BAG_TERMS_MAX)
        return;
    memmove(&bag->terms[low + 1], &bag->terms[low], (bag->count - low) * sizeof(bag->terms[0]));
    bag->terms[low] = (struct term){ id, weight };
    bag->count++;
}

void bag_add(struct bag *bag, const char *text, float weight)
{
    char word[WORD_BYTES];
    while (next_word(&text, word))
        if (tells(word))
            add_term(bag, hash(word), weight);
}
