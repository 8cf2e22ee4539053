// One pass over /proc/*/stat gives every process with its parent and its group; those whose chain
// of parents leads here are ours.
//
// A group is signalled as a whole: the kernel does that in one step, which a process that forks in
// a loop cannot outrun. All members are ours, because a group lies within a session, and the
// command has begun a session of its own.
#include "server/supervisor_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"

struct process {
    pid_t pid, parent, group;
    bool ours;
};

// `pid (name) state ppid pgrp ...`: the name may hold anything, so the last bracket counts.
static bool read_process(int proc, const char *name, struct process *process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "%.20s/stat", name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;  // it has ended meanwhile
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *after = strrchr(text, ')');
    int parent, group;
    // Numbers of the kernel's own: they fit.
    if (!after || sscanf(after, ") %*c %d %d", &parent, &group) != 2)  // NOLINT(cert-err34-c)
        return false;
    *process = (struct process){ .pid = (pid_t)strtol(name, NULL, 10),
                                 .parent = parent,
                                 .group = group };
    return true;
}

static struct list all_processes(struct arena *arena)
{
    struct list list = list_of(arena, sizeof(struct process));
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct process process;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9'
            || !read_process(dirfd(proc), entry->d_name, &process))
            continue;
        struct process *kept = list_add(&list);
        if (kept)
            *kept = process;
    }
    if (proc)
        closedir(proc);
    return list;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
    return (x > y) - (x < y);
}

static bool is_ours(const struct list *all, pid_t pid)
{
    const struct process wanted = { .pid = pid };
    const struct process *found = bsearch(&wanted, all->items, all->count, all->size, by_pid);
    return pid == getpid() || (found && found->ours);
}

// Each round marks at least one generation more; the rounds end when nothing is new.
static void mark_ours(const struct list *list)
{
    struct process *all = list->items;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < list->count; i++)
            if (!all[i].ours && is_ours(list, all[i].parent))
                all[i].ours = more = true;
    }
}

// A second SIGTERM says "at once" to some programs: each group gets one.
static bool group_had_it(const struct process *all, size_t count, pid_t group)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].ours && all[i].group == group)
            return true;
    return false;
}

void tree_signal(int signal)
{
    SCOPED(arena) struct arena arena = {0};
    struct list list = all_processes(&arena);
    struct process *all = list.items;
    pid_t own_group = getpgrp();
    if (list.count == 0)
        return;
    qsort(all, list.count, list.size, by_pid);
    mark_ours(&list);
    // One that is gone by now was not signalled, and need not be.
    for (size_t i = 0; i < list.count; i++) {
        if (!all[i].ours)
            continue;
        if (all[i].group == own_group)
            kill(all[i].pid, signal);
        else if (!group_had_it(all, i, all[i].group))
            kill(-all[i].group, signal);
    }
}
