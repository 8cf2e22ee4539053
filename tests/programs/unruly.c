// A command that misbehaves on demand.
//
//   unruly MARK WORD...
//
// Does what the words say, one after another; MARK is for whoever looks for it in /proc.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(int fd, const char *text)
{
    (void)!write(fd, text, strlen(text));
}

static void out(const char *text)
{
    say(STDOUT_FILENO, text);
}

static void err(const char *text)
{
    say(STDERR_FILENO, text);
    say(STDERR_FILENO, "\n");
}

static void err_open(const char *text)
{
    say(STDERR_FILENO, text);
}

static void copy(const char *unused)
{
    char bytes[4096];
    ssize_t n;
    (void)unused;
    while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0)
        (void)!write(STDOUT_FILENO, bytes, (size_t)n);
}

static void variables(const char *unused)
{
    extern char **environ;
    (void)unused;
    for (char **variable = environ; *variable; variable++)
        printf("%s\n", *variable);
    fflush(stdout);
}

static void descriptors(const char *unused)
{
    (void)unused;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    fflush(stdout);
}

static void directory(const char *unused)
{
    char path[512];
    (void)unused;
    out(getcwd(path, sizeof path) ? path : "?");
}

static void bytes(const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        char two[] = { hex[0], hex[1], 0 };
        unsigned char byte = (unsigned char)strtoul(two, NULL, 16);
        (void)!write(STDOUT_FILENO, &byte, 1);
    }
}

static void hang(const char *unused)
{
    (void)unused;
    for (;;)
        pause();
}

static void ignore(const char *unused)
{
    (void)unused;
    signal(SIGTERM, SIG_IGN);
}

static void leave_well(int unused)
{
    (void)unused;
    _exit(0);
}

static void obey(const char *unused)
{
    (void)unused;
    signal(SIGTERM, leave_well);
}

static void leave(const char *status)
{
    _exit((int)strtol(status, NULL, 10));
}

static void die(const char *number)
{
    raise((int)strtol(number, NULL, 10));
}

// A child with a child with a child, so many, that hang and ignore SIGTERM.
static void descend(const char *number)
{
    if (fork() != 0)
        return;
    ignore("");
    for (long left = strtol(number, NULL, 10); left > 1; left--)
        if (fork() != 0)
            hang("");
    hang("");
}

static void bomb(const char *number)
{
    for (long left = strtol(number, NULL, 10); left > 0; left--) {
        if (fork() == 0) {
            ignore("");
            hang("");
        }
    }
}

// Forks for ever, in groups that are never the one before: each process lives for a moment.
static void hop(const char *unused)
{
    (void)unused;
    for (;;) {
        if (fork() > 0)
            _exit(0);
        setsid();
        usleep(1000);
    }
}

static void background(void (*what)(const char *), const char *argument)
{
    if (fork() != 0)
        return;
    what(argument);
    _exit(0);
}

static void hop_away(const char *unused)
{
    background(hop, unused);
}

// As daemons do, with all descriptors open.
static void daemonise(const char *unused)
{
    if (fork() != 0)
        return;
    setsid();
    if (fork() != 0)
        _exit(0);
    ignore("");
    hang(unused);
}

static void fill(const char *unused)
{
    char line[1024];
    (void)unused;
    memset(line, 'x', sizeof line);
    signal(SIGPIPE, SIG_IGN);
    ignore("");
    for (;;)
        (void)!write(STDOUT_FILENO, line, sizeof line);
}

static void babble(const char *lines)
{
    for (long i = 0; i < strtol(lines, NULL, 10); i++)
        dprintf(STDERR_FILENO, "line %ld of what nobody will read to its end\n", i);
}

static void shut(const char *unused)
{
    (void)unused;
    close(STDOUT_FILENO);
}

static void append(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0)
        _exit(70);
    dprintf(fd, "%s\n", text);
    close(fd);
}

static void note(const char *path)
{
    const char *key = getenv("PAWL_EFFECT_KEY");
    append(path, key ? key : "none");
}

static void hang_unless(const char *path)
{
    if (access(path, F_OK) != 0)
        hang("");
}

static void kill_parent(const char *unused)
{
    (void)unused;
    kill(getppid(), SIGKILL);
    hang("");
}

static const struct {
    const char *word;
    void (*act)(const char *argument);
} words[] = {
    { "out=", out },
    { "err=", err },
    { "err-open=", err_open },
    { "bytes=", bytes },
    { "copy", copy },
    { "environment", variables },
    { "descriptors", descriptors },
    { "directory", directory },
    { "exit=", leave },
    { "signal=", die },
    { "ignore", ignore },
    { "obey", obey },
    { "hang-unless=", hang_unless },
    { "hang", hang },
    { "descend=", descend },
    { "bomb=", bomb },
    { "hop", hop_away },
    { "daemon", daemonise },
    { "fill", fill },
    { "babble=", babble },
    { "close-stdout", shut },
    { "note=", note },
    { "kill-supervisor", kill_parent },
};

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        size_t w = 0;
        while (w < sizeof words / sizeof words[0]
               && strncmp(argv[i], words[w].word, strlen(words[w].word)) != 0)
            w++;
        if (w == sizeof words / sizeof words[0])
            return 64;
        words[w].act(argv[i] + strlen(words[w].word));
    }
    return 0;
}
