// A word is a run of letters, and every byte above ASCII counts as one: "Ærø's" is a word. A word
// says something when it is long and not in the list of common ones.
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES_MAX = 64, TELLING_BYTES_MIN = 4 };

static const char *const common[] = {
    "about", "after", "again", "along", "also", "because", "been", "before", "between", "both",
    "could", "does", "down", "each", "even", "every", "from", "have", "into", "it's", "itself",
    "just", "like", "many", "more", "most", "much", "must", "never", "nobody", "nothing", "once",
    "only", "other", "over", "same", "should", "some", "such", "than", "that", "their", "them",
    "then", "there", "these", "they", "this", "those", "through", "under", "until", "upon", "very",
    "were", "what", "when", "where", "which", "while", "whose", "will", "with", "without", "would",
    "your",
};

// ----- UTF-8

// How long the character at `s` is, by its first byte; 0 when none starts so. `low` and `high` are
// the bounds of the second byte: they keep out surrogates, overlong forms and what lies beyond.
static size_t character_bytes(const unsigned char *s, unsigned char *low, unsigned char *high)
{
    *low = *s == 0xE0 ? 0xA0 : *s == 0xF0 ? 0x90
                                          : 0x80;
    *high = *s == 0xED ? 0x9F : *s == 0xF4 ? 0x8F
                                           : 0xBF;
    if (*s < 0x80)
        return *s == 0 ? 0 : 1;
    if (*s < 0xC2 || *s > 0xF4)
        return 0;
    return *s < 0xE0 ? 2 : *s < 0xF0 ? 3
                                     : 4;
}

bool text_is_utf8(const char *bytes, size_t length, size_t *bad_at)
{
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0, n; i < length; i += n) {
        unsigned char low, high;
        *bad_at = i;
        n = character_bytes(s + i, &low, &high);
        if (n == 0 || n > length - i || (n > 1 && (s[i + 1] < low || s[i + 1] > high)))
            return false;
        for (size_t k = 2; k < n; k++)
            if ((s[i + k] & 0xC0) != 0x80)
                return false;
    }
    return true;
}

// ----- sentences

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Where the sentence that starts at `s` ends: behind a full stop, or before a blank line.
static const char *sentence_end(const char *s)
{
    for (; *s; s++) {
        bool stop = *s == '.' || *s == '!' || *s == '?';
        if (stop && (s[1] == '\0' || is_space(s[1])))
            return s + 1;
        if (*s == '\n' && s[1 + strspn(s + 1, " \r\t")] == '\n')
            return s;
    }
    return s;
}

// The text from `s` to `end` with every run of white space as one space.
static json_t *one_line(const char *s, const char *end)
{
    char *line = malloc((size_t)(end - s) + 1);
    if (!line)
        return NULL;
    size_t length = 0;
    for (; s < end; s++)
        if (!is_space(*s))
            line[length++] = *s;
        else if (length > 0 && line[length - 1] != ' ')
            line[length++] = ' ';
    json_t *string = json_stringn(line, length);
    free(line);
    return string;
}

json_t *text_sentences(const char *text)
{
    json_t *sentences = json_array();
    for (text += strspn(text, " \r\t\n"); *text; text += strspn(text, " \r\t\n")) {
        const char *end = sentence_end(text);
        if (json_array_append_new(sentences, one_line(text, end)) != 0) {
            json_decref(sentences);
            return NULL;
        }
        text = end;
    }
    return sentences;
}

// ----- words

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

// How much of a text that may have been cut in the middle of a character is whole.
static size_t whole_bytes(const char *text, size_t length)
{
    while (((unsigned char)text[length - 1] & 0xC0) == 0x80)
        length--;
    return (unsigned char)text[length - 1] >= 0xC0 ? length - 1 : length;
}

// Takes the next word of `s` in lower case, cut at WORD_BYTES_MAX. False when there is none left.
static bool next_word(const char **s, char word[static WORD_BYTES_MAX])
{
    size_t length = 0;
    while (**s && !is_letter(**s))
        (*s)++;
    for (; is_letter(**s) || (**s == '\'' && is_letter((*s)[1]) && length > 0); (*s)++)
        if (length < WORD_BYTES_MAX - 1)
            word[length++] = (char)tolower((unsigned char)**s);
    word[length == WORD_BYTES_MAX - 1 ? whole_bytes(word, length) : length] = '\0';
    return length > 0;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_telling(const char *word)
{
    return strlen(word) >= TELLING_BYTES_MIN
        && !bsearch(&word, common, sizeof(common) / sizeof(common[0]), sizeof(common[0]),
                    compare_text);
}

int text_count(const char *sentence, json_t *counts)
{
    char word[WORD_BYTES_MAX];
    int words = 0;
    for (; next_word(&sentence, word); words++) {
        json_int_t count = json_integer_value(json_object_get(counts, word)) + 1;
        if (json_object_set_new(counts, word, json_integer(count)) != 0)
            return -1;
    }
    return words;
}

// ----- what a text is about

// The word used most that is not in `top` already; of two the first in the alphabet. NULL: none.
static const char *next_top(json_t *counts, json_t *top)
{
    const char *word, *best = NULL;
    json_t *count;
    json_int_t most = 0;
    json_object_foreach (counts, word, count) {
        json_int_t n = json_integer_value(count);
        if (n < most || (best && n == most && strcmp(word, best) > 0) || !is_telling(word))
            continue;
        bool taken = false;
        for (size_t i = 0; i < json_array_size(top) && !taken; i++)
            taken = strcmp(json_string_value(json_array_get(top, i)), word) == 0;
        if (taken)
            continue;
        best = word;
        most = n;
    }
    return best;
}

json_t *text_top(json_t *counts, size_t wanted)
{
    json_t *top = json_array();
    for (const char *word; json_array_size(top) < wanted && (word = next_top(counts, top));)
        if (json_array_append_new(top, json_string(word)) != 0) {
            json_decref(top);
            return NULL;
        }
    return top;
}

// How often the telling words of a sentence are used in the whole text, on average, with a few
// words added: neither the longest sentence nor the shortest is the best. A heading is none.
static double score(const char *sentence, const json_t *counts)
{
    enum { WORDS_ADDED = 8 };
    char word[WORD_BYTES_MAX];
    double sum = 0;
    int words = WORDS_ADDED;
    if (!*sentence || !strchr(".!?", sentence[strlen(sentence) - 1]))
        return 0;
    for (; next_word(&sentence, word); words++)
        if (is_telling(word))
            sum += (double)json_integer_value(json_object_get(counts, word));
    return sum / words;
}

enum { CHOSEN = -1 };  // no score is negative

static void choose_best(double *scores, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    scores[best] = CHOSEN;
}

json_t *text_summary(const json_t *sentences, const json_t *counts, size_t wanted)
{
    size_t count = json_array_size(sentences);
    double *scores = calloc(count + 1, sizeof(*scores));  // one more: calloc(0) may answer NULL
    json_t *summary = scores ? json_array() : NULL;
    for (size_t i = 0; summary && i < count; i++)
        scores[i] = score(json_string_value(json_array_get(sentences, i)), counts);
    for (size_t i = 0; summary && i < wanted && i < count; i++)
        choose_best(scores, count);
    for (size_t i = 0; summary && i < count; i++)
        if (scores[i] == CHOSEN
            && json_array_append(summary, json_array_get(sentences, i)) != 0) {
            json_decref(summary);
            summary = NULL;
        }
    free(scores);
    return summary;
}
