// What a person sees: on a terminal one bar per document, drawn over and over; elsewhere a line
// whenever something has changed. NO_COLOR and TERM=dumb are respected.
#pragma once

#include <pawl.h>
#include <pthread.h>

enum { NOTES_MAX = 16, NOTE_BYTES_MAX = 200 };

struct bar {
    const char *name;           // of the document
    struct pawl_status status;  // as last asked
    char shown[128];            // without a terminal: the last thing that was said of it
};

struct note {
    char job_id[PAWL_ID_BYTES];  // empty: about no run in particular
    char text[NOTE_BYTES_MAX];
};

struct screen {
    struct bar *bars;
    size_t count;
    bool terminal, colours;
    bool drawn;             // the bars are right above the cursor
    pthread_mutex_t mutex;  // guards the notes, which come from Pawl's threads
    struct note notes[NOTES_MAX];
    size_t note_count, notes_lost;
};

void screen_open(struct screen *screen, struct bar *bars, size_t count);
void screen_close(struct screen *screen);
void screen_draw(struct screen *screen);

// How many columns there are; plenty when it is no terminal.
int screen_columns(const struct screen *screen);

// Prints a line after `indent` columns, cut with "..." where the screen ends.
void screen_say(const struct screen *screen, int indent, const char *text);

// For struct pawl_options: keeps what somebody should look at until the next screen_draw.
void screen_log(void *screen, const struct pawl_log_line *line);
