// What can be found out about a text. Pure: no files, no Pawl; JSON in and out, because what a step
// finds out is kept as JSON.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// Whether the bytes are UTF-8 as RFC 3629 has it, without NUL; else `bad_at` is the first that is
// not.
bool text_is_utf8(const char *bytes, size_t length, size_t *bad_at);

// The sentences, as an array of strings with single spaces. A blank line ends one, too.
json_t *text_sentences(const char *text);

// Adds the words of a sentence, in lower case, to an object of counts. Answers how many there were;
// -1: no memory.
int text_count(const char *sentence, json_t *counts);

// The `wanted` words that are used most and say something (not "the"), as an array of strings.
json_t *text_top(json_t *counts, size_t wanted);

// The `wanted` sentences whose words are used most in the whole text, in the order of the text.
json_t *text_summary(const json_t *sentences, const json_t *counts, size_t wanted);
