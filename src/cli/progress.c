// The bar is one line that is written over; hiding it wipes the line.
#include "cli/progress.h"

#include <stdio.h>

#include "cli/output.h"

enum { CELLS = 30 };

static void draw(const struct progress_bar *bar, int64_t done, int64_t total)
{
    if (total <= 0) {
        fprintf(stderr, "\r\033[K%s %lld", bar->what, (long long)done);
        return;
    }
    double part = done < total ? (double)done / (double)total : 1;
    int full = (int)(part * CELLS);
    fprintf(stderr, "\r\033[K%s [", bar->what);
    for (int i = 0; i < CELLS; i++)
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
