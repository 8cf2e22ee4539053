// A program that loads Pawl when it needs it, as a plugin, and closes it again; three times. In
// between one handler ignores every deadline and returns when handle and library are closed.
#include <dirent.h>
#include <dlfcn.h>
#include <pawl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, ROUNDS = 3 };

// The functions of pawl.h by their own names, to be found at run time.
static struct {
    void *library;
    __typeof__(&pawl_open) open;
    __typeof__(&pawl_handle) handle;
    __typeof__(&pawl_start) start;
    __typeof__(&pawl_enqueue) enqueue;
    __typeof__(&pawl_run_until_idle) run_until_idle;
    __typeof__(&pawl_close) close;
} p;

static bool load(const char *path)
{
    p.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!p.library)
        return false;
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        { "pawl_open", &p.open },
        { "pawl_handle", &p.handle },
        { "pawl_start", &p.start },
        { "pawl_enqueue", &p.enqueue },
        { "pawl_run_until_idle", &p.run_until_idle },
        { "pawl_close", &p.close },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(p.library, functions[i].name);
        if (!found)
            return false;
        memcpy(functions[i].function, &found, sizeof found);
    }
    return true;
}

static int entries(const char *directory)
{
    int count = 0;
    DIR *open = opendir(directory);
    while (open && readdir(open))
        count++;
    if (open)
        closedir(open);
    return count;
}

// "." and ".." are entries too.
static bool is_alone(void)
{
    for (int ms = 0; ms < PATIENCE_MS && entries("/proc/self/task") > 3; ms++)
        usleep(1000);
    return entries("/proc/self/task") == 3;
}

static sem_t begun, may_return;
static int greeted;

static bool greet(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    greeted++;
    return true;
}

static bool ignore(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    sem_post(&begun);
    sem_wait(&may_return);
    return true;
}

static bool use(struct pawl_options *options, struct pawl_handler *handler, struct pawl **pawl)
{
    struct pawl_job job = { .job_type = handler->job_type };
    return p.open(pawl, options, NULL) && p.handle(*pawl, handler, NULL) && p.start(*pawl, NULL)
        && p.enqueue(*pawl, &job, NULL, NULL);
}

static bool round_trip(const char *path, struct pawl_options *options)
{
    struct pawl_handler handler = { .job_type = "greet", .prepare = greet };
    struct pawl *pawl = NULL;
    if (!load(path) || !use(options, &handler, &pawl) || !p.run_until_idle(pawl, NULL))
        return false;
    p.close(pawl);
    return dlclose(p.library) == 0 && is_alone();
}

static bool outlived_by_a_handler(const char *path, struct pawl_options *options)
{
    struct pawl_handler handler = { .job_type = "ignore", .prepare = ignore };
    struct pawl *pawl = NULL;
    sem_init(&begun, 0, 0);
    sem_init(&may_return, 0, 0);
    if (!load(path) || !use(options, &handler, &pawl) || sem_wait(&begun) != 0)
        return false;
    p.close(pawl);
    bool closed = dlclose(p.library) == 0;
    sem_post(&may_return);
    return closed && is_alone();
}

int main(int count, char **words)
{
    struct pawl_options options = { .store = count > 2 ? words[2] : NULL, .grace_us = 1000 };
    if (count < 3 || !round_trip(words[1], &options))
        return 1;
    int files = entries("/proc/self/fd");
    if (!outlived_by_a_handler(words[1], &options))
        return 1;
    for (int i = 1; i < ROUNDS; i++)
        if (!round_trip(words[1], &options))
            return 1;
    printf("greeted %d times, %d files left open\n", greeted, entries("/proc/self/fd") - files);
    return 0;
}
