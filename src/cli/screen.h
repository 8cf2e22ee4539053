// A screen that is drawn again and again, on standard output, when that is a terminal.
//
// It uses the terminal's second screen, so that what was there before comes back: at the end, and
// when a signal ends the program. Nothing is asked of the keyboard: Ctrl-C ends it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void screen_open(void);
void screen_close(void);  // {not open} is fine

// Between these two a frame is printed; it appears at once.
void frame_begin(void);
void frame_end(void);

size_t terminal_rows(int fd);  // 0: not a terminal, or it does not say

// Waits so long, or until the terminal has another size. Once the screen is open.
void screen_wait(int64_t microseconds);
