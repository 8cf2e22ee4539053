// The address of an article, in the one form it is stored in: what is unique must look the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Makes `link`, as a feed at `base` says it, absolute; drops the fragment, credentials, a default
// port and the parameters that only follow readers around. False when it is no http or https
// address, or too long: such a link must never be on a page.
bool link_clean(const char *base, const char *link, char *out, size_t size);

bool link_is_http(const char *text);
