// Plain text from what feeds put into titles and summaries: HTML of any quality.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes `text` to `out` as one line of UTF-8: tags gone, entities decoded, blanks collapsed,
// control characters and direction overrides dropped. What does not fit is cut between two words
// and marked with an ellipsis. `html` false: the text is meant literally, and `<` is only a
// character.
void plain_text(const char *text, bool html, char *out, size_t size);

// Appends a code point as UTF-8 when there is room for it; what cannot be one is U+FFFD.
size_t plain_put(unsigned long code, char *out, size_t size);
