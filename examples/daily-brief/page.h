// The brief as a page: HTML without a script, and its style sheet, for light and dark, wide and
// narrow screens.
#pragma once

#include <jansson.h>
#include <stddef.h>

// An edition (edition.h) as a whole document. Everything that comes from a feed is escaped. To be
// freed; NULL when there is no memory.
char *page_edition(const json_t *edition, size_t *length);

// A page that only says something.
char *page_message(const char *title, const char *message, size_t *length);

extern const char page_style[];
