// The bar is one line that is written over; hiding it wipes the line.
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"

enum { CELLS_MAX = 30, COLUMNS_USUAL = 80, COLUMNS_MIN = 30 };

// A line that wraps cannot be written over, and one that fills the last column may wrap.
static void draw(const struct progress_bar *bar, int64_t done, int64_t total)
{
    size_t columns = terminal_columns(2);
    columns = columns ? columns : COLUMNS_USUAL;
    double part = done < total ? (double)done / (double)total : 1;
    fputs("\r\033[K", stderr);
    if (total <= 0) {
        char count[64];
        snprintf(count, sizeof(count), "%s %lld", bar->what, (long long)done);
        fprintf(stderr, "%.*s", (int)columns - 1, count);
        return;
    }
    if (columns < COLUMNS_MIN) {
        fprintf(stderr, "%d%%", (int)(part * 100));
        return;
    }
    size_t room = columns - strlen(bar->what) - sizeof(" [] 100%");
    int cells = room < CELLS_MAX ? (int)room : CELLS_MAX, full = (int)(part * cells);
    fprintf(stderr, "%s [", bar->what);
    for (int i = 0; i < cells; i++)
        fputs(i < full ? "#" : "-", stderr);
    fprintf(stderr, "] %3d%%", (int)(part * 100));
}

void progress_show(struct progress_bar *bar, int64_t done, int64_t total)
{
    int64_t now = world_monotonic(bar->world);
    if (!is_terminal(2) || (bar->shown && now - bar->drawn_at < MILLISECONDS(100)))
        return;
    draw(bar, done, total);
    fflush(stderr);
    bar->shown = true;
    bar->drawn_at = now;
}

void progress_hide(struct progress_bar *bar)
{
    if (bar->shown)
        fputs("\r\033[K", stderr);
    bar->shown = false;
}
