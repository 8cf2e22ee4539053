// Words are compared by how many letters must be changed to make one of the other.
#include "base/guess.h"

enum { WORD_MAX = 32 };  // longer words are not meant for another

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static bool swapped(struct str a, struct str b, size_t i, size_t j)
{
    return i > 1 && j > 1 && a.s[i - 1] == b.s[j - 2] && a.s[i - 2] == b.s[j - 1];
}

// How many letters must come, go, change, or trade places with the next one to make `b` of `a`.
static size_t edits(struct str a, struct str b)
{
    size_t distance[WORD_MAX + 1][WORD_MAX + 1];  // by how much of `a` and of `b`
    for (size_t i = 0; i <= a.n; i++) {
        for (size_t j = 0; j <= b.n; j++) {
            size_t *n = &distance[i][j];
            if (i == 0 || j == 0) {
                *n = i + j;
                continue;
            }
            *n = least(distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                       distance[i - 1][j - 1] + (a.s[i - 1] != b.s[j - 1]));
            if (swapped(a, b, i, j) && distance[i - 2][j - 2] + 1 < *n)
                *n = distance[i - 2][j - 2] + 1;
        }
    }
    return distance[a.n][b.n];
}

void guess_try(struct guess *guess, struct str word, const char *name)
{
    struct str candidate = str_of(name);
    if (word.n > WORD_MAX || candidate.n > WORD_MAX)
        return;
    size_t n = edits(word, candidate), longer = word.n > candidate.n ? word.n : candidate.n;
    if (n <= longer / 3 && (!guess->name || n < guess->edits))
        *guess = (struct guess){ name, n };
}
