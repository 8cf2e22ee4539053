// Escape sequences that every terminal of the last thirty years knows, and two kinds of signals:
// those that end the program first give the terminal back, and a new size ends the wait.
#include "cli/screen.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"  // the second screen, without a cursor
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_REST "\033[J"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static bool open_now;

// Only what a signal handler may do. The signal then does what it always does.
static void give_back(int number)
{
    const char leave[] = LEAVE;
    if (write(STDOUT_FILENO, leave, sizeof leave - 1) < 0)
        _exit(1);  // there is no terminal to give back
    signal(number, SIG_DFL);
    raise(number);
}

static sigset_t resize_only(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    return set;
}

void screen_open(void)
{
    static char frame[1 << 16];
    setvbuf(stdout, frame, _IOFBF, sizeof frame);  // a frame is one write
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        signal(ending[i], give_back);
    sigset_t resize = resize_only();
    sigprocmask(SIG_BLOCK, &resize, NULL);
    open_now = true;
    fputs(ENTER, stdout);
    fflush(stdout);
}

void screen_close(void)
{
    if (!open_now)
        return;
    open_now = false;
    fputs(LEAVE, stdout);
    fflush(stdout);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        signal(ending[i], SIG_DFL);
}

void frame_begin(void)
{
    fputs(HOME CLEAR_REST, stdout);
}

void frame_end(void)
{
    fflush(stdout);
}

size_t terminal_rows(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void screen_wait(int64_t microseconds)
{
    sigset_t resize = resize_only();
    struct timespec time = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    sigtimedwait(&resize, NULL, &time);
}
