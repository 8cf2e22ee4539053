// The brief in a terminal.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Prints an edition (edition.h) as text: the events told by several articles, then the others in a
// line each. Colours only on a terminal.
void print_edition(FILE *out, const json_t *edition);
