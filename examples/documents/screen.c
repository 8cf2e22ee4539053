// A bar fits one line of the terminal, whatever its width: a line that wraps cannot be drawn over.
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CELLS = 24, COLUMNS_PLENTY = 400, LINE_BYTES_MAX = 512 };

// ----- words

static const struct {
    const char *phase, *words;
} phases[] = {
    { "ready", "waits for its turn" },
    { "leased", "waits for its turn" },
    { "blocked", "waits: another version is being processed" },
    { "backoff", "waits for its next attempt" },
    { "running", "begins" },
    { "finishing", "is committed" },
};

// What there is to say of a document now.
static const char *words_of(const struct pawl_status *status)
{
    bool running = strcmp(status->phase, "running") == 0;
    if (strcmp(status->state, "SUCCEEDED") == 0)
        return "done";
    if (status->ended && status->error[0])
        return status->error;
    if (running && status->progress[0])
        return status->progress;
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (strcmp(status->phase, phases[i].phase) == 0)
            return phases[i].words;
    return status->ended ? status->failure_type : status->phase;
}

static int percent_of(const struct pawl_status *status)
{
    if (strcmp(status->state, "SUCCEEDED") == 0)
        return 100;
    return status->percent > 0 ? status->percent : 0;
}

static const char *colour_of(const struct pawl_status *status)
{
    if (status->ended)
        return strcmp(status->state, "SUCCEEDED") == 0 ? "\033[32m" : "\033[31m";
    return strcmp(status->phase, "running") == 0 ? "\033[0m" : "\033[2m";
}

// ----- drawing

int screen_columns(const struct screen *screen)
{
    struct winsize size;
    if (!screen->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_PLENTY;
    return size.ws_col;
}

// Cuts between characters: a byte 10xxxxxx goes on with the one before it.
static int fitting_bytes(const char *text, int columns)
{
    int at = 0, used = 0;
    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xC0) != 0x80 && used++ == columns)
            break;
    return at;
}

void screen_say(const struct screen *screen, int indent, const char *text)
{
    int columns = screen_columns(screen) - indent - 1;
    int bytes = fitting_bytes(text, columns > 3 ? columns : 3);
    if (text[bytes])
        bytes = fitting_bytes(text, columns > 3 ? columns - 3 : 0);
    printf("%*s%.*s%s\n", indent, "", bytes, text, text[bytes] ? "..." : "");
}

static void draw_bar(const struct screen *screen, const struct bar *bar)
{
    char cells[CELLS + 1], line[LINE_BYTES_MAX];
    int percent = percent_of(&bar->status);
    for (int i = 0; i < CELLS; i++)
        cells[i] = i < percent * CELLS / 100 ? '#' : '.';
    cells[CELLS] = '\0';
    snprintf(line, sizeof(line), "%-14s [%s] %3d%%  %s", bar->name, cells, percent,
             words_of(&bar->status));
    printf("\033[K%s", screen->colours ? colour_of(&bar->status) : "");
    screen_say(screen, 3, line);
    fputs(screen->colours ? "\033[0m" : "", stdout);
}

static void say_bar(struct bar *bar)
{
    char said[sizeof(bar->shown)];
    snprintf(said, sizeof(said), "%s%s%s", bar->status.ended ? bar->status.state : "",
             bar->status.ended ? ": " : "", words_of(&bar->status));
    if (strcmp(said, bar->shown) == 0)
        return;
    memcpy(bar->shown, said, sizeof(said));
    printf("   %-14s %s\n", bar->name, said);
}

static const char *name_of(const struct screen *screen, const char *job_id)
{
    for (size_t i = 0; i < screen->count; i++)
        if (strcmp(screen->bars[i].status.job_id, job_id) == 0)
            return screen->bars[i].name;
    return "";
}

static void draw_notes(struct screen *screen)
{
    const char *clear = screen->terminal ? "\033[K" : "";
    pthread_mutex_lock(&screen->mutex);
    for (size_t i = 0; i < screen->note_count; i++) {
        char line[LINE_BYTES_MAX];
        snprintf(line, sizeof(line), "%-14s %s", name_of(screen, screen->notes[i].job_id),
                 screen->notes[i].text);
        fputs(clear, stdout);
        screen_say(screen, 3, line);
    }
    if (screen->notes_lost > 0)
        printf("%s   and %zu more\n", clear, screen->notes_lost);
    screen->note_count = screen->notes_lost = 0;
    pthread_mutex_unlock(&screen->mutex);
}

void screen_draw(struct screen *screen)
{
    if (screen->drawn)
        printf("\033[%zuA\r", screen->count);
    draw_notes(screen);
    for (size_t i = 0; i < screen->count; i++)
        if (screen->terminal)
            draw_bar(screen, &screen->bars[i]);
        else
            say_bar(&screen->bars[i]);
    screen->drawn = screen->terminal;
    fflush(stdout);
}

// ----- notes

void screen_log(void *context, const struct pawl_log_line *line)
{
    struct screen *screen = context;
    if (!line->warning)
        return;
    pthread_mutex_lock(&screen->mutex);
    if (screen->note_count < NOTES_MAX) {
        struct note *note = &screen->notes[screen->note_count++];
        snprintf(note->job_id, sizeof(note->job_id), "%s", line->job_id);
        snprintf(note->text, sizeof(note->text), "%s: %s", line->event, line->message);
    } else {
        screen->notes_lost++;
    }
    pthread_mutex_unlock(&screen->mutex);
}

// ----- open and close

void screen_open(struct screen *screen, struct bar *bars, size_t count)
{
    struct winsize size = {0};
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool able = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    bool fits = able && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > count;
    *screen = (struct screen){ .bars = bars, .count = count, .terminal = fits };
    screen->colours = fits && (!no_color || !*no_color);
    pthread_mutex_init(&screen->mutex, NULL);
}

void screen_close(struct screen *screen)
{
    pthread_mutex_destroy(&screen->mutex);
}
