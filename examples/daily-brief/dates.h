// Dates as feeds write them, and as people read them. Times are seconds since 1970, UTC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { DAY_BYTES = 11, TIME_BYTES = 24, TITLE_BYTES = 64, DAY_SECONDS = 86400 };

// Reads RFC 822 with its usual variations (RSS 2.0) and RFC 3339 with the shorter forms of W3CDTF
// (RSS 1.0, Atom). False when it is no date, or one that does not exist.
bool date_parse(const char *text, int64_t *at);

// The day a time is in, as "2026-03-14"; and back, to its first second.
void date_day(int64_t at, char day[DAY_BYTES]);
bool date_of_day(const char *day, int64_t *at);

void date_time(int64_t at, char text[TIME_BYTES]);    // 2026-03-14T18:00:00Z
void date_title(int64_t at, char title[TITLE_BYTES]);  // Saturday 14 March 2026
