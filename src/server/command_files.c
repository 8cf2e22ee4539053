// A directory in the directory of artifacts, named after the execution.
#include "server/command_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "run/handle.h"
#include "run/run.h"
#include "store/blob.h"

enum { DESCRIPTORS = 16 };
#define PREFIX "run-"

// ----- before

static bool make(struct command_files *f, const char *store_files, const struct pawl_run *run,
                 struct arena *arena)
{
    f->directory = str_format(arena, "%s/" PREFIX "%s-%d", store_files, pawl_exec_id(run),
                              pawl_attempt(run))
                       .s;
    f->in = str_format(arena, "%s/in", f->directory).s;
    f->out = str_format(arena, "%s/out", f->directory).s;
    if (arena->failed || (mkdir(store_files, 0700) != 0 && errno != EEXIST)
        || mkdir(f->directory, 0700) != 0)
        return false;
    f->fd = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->fd >= 0 && flock(f->fd, LOCK_EX | LOCK_NB) == 0 && mkdir(f->in, 0700) == 0
        && mkdir(f->out, 0700) == 0;
}

static bool link_inputs(const struct command_files *f, struct pawl_run *run, struct arena *arena,
                        const struct run_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str id = id_text(arena, inputs[i].id);
        const char *name = str_format(arena, "%s/%.*s", f->in, STR(id)).s;
        if (symlink(inputs[i].path, name) != 0 && errno != EEXIST)
            return pawl_fail(run, PAWL_TRANSIENT, "its inputs cannot be laid out: %s",
                             strerrordesc_np(errno));
    }
    return true;
}

bool command_files_begin(struct command_files *f, struct pawl_run *run, struct arena *arena)
{
    struct run_input *inputs = NULL;
    size_t count = 0;
    *f = (struct command_files){ .fd = -1 };
    if (!run_inputs(run, &inputs, &count))
        return false;
    char *store_files = blobs_path(str_of(run->pawl->options.store));
    bool made = store_files && make(f, store_files, run, arena);
    int why = errno;
    free(store_files);
    if (made)
        return link_inputs(f, run, arena, inputs, count);
    command_files_end(f);
    return count == 0
        || pawl_fail(run, PAWL_TRANSIENT, "its inputs cannot be laid out: %s",
                     strerrordesc_np(why));
}

// ----- after

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool list_names(const char *directory, struct list *names)
{
    const struct dirent *entry;
    DIR *opened = opendir(directory);
    if (!opened)
        return false;
    while ((entry = readdir(opened)) != NULL) {
        const char **name = entry->d_name[0] == '.' ? NULL : list_add(names);
        if (name)
            *name = str_dup(names->arena, str_of(entry->d_name)).s;
    }
    closedir(opened);
    if (names->count > 0)
        qsort(names->items, names->count, sizeof(char *), by_name);
    return !names->arena->failed;
}

// For a command that knows nothing of artifacts: what it prints is its plan.
static bool take_text(const struct command_files *f, struct pawl_run *run, struct arena *arena,
                      const struct command_output *output)
{
    bool json = output->text.n > 0 && strchr("{[", output->text.s[0]);
    const char *name = json ? "output.json" : "output.txt";
    const char *path = str_format(arena, "%s/%s", f->out, name).s;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0
                && write(fd, output->text.s, output->text.n) == (ssize_t)output->text.n;
    if (fd >= 0)
        close(fd);
    return written
             ? run_artifact(run, &(struct run_file){ path, name,
                                                     json ? "application/json" : "text/plain",
                                                     output->bytes_max })
             : pawl_fail(run, PAWL_TRANSIENT, "what it printed cannot be stored");
}

bool command_files_take(const struct command_files *f, struct pawl_run *run, struct arena *arena,
                        const struct command_output *output)
{
    struct list names = list_of(arena, sizeof(char *));
    if (!f->directory)
        return true;
    if (!list_names(f->out, &names))
        return pawl_fail(run, PAWL_TRANSIENT, "its artifacts cannot be read");
    char *const *all = names.items;
    for (size_t i = 0; i < names.count; i++) {
        const char *path = str_format(arena, "%s/%s", f->out, all[i]).s;
        if (!run_artifact(run, &(struct run_file){ path, all[i], NULL, output->bytes_max }))
            return false;
    }
    return names.count > 0 || !output->needed || output->text.n == 0
        || take_text(f, run, arena, output);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about, (void)kind, (void)at;
    (void)!remove(path);  // what stays is tried again at the next start
    return 0;
}

static void remove_tree(const char *directory)
{
    (void)!nftw(directory, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

void command_files_end(struct command_files *f)
{
    if (f->directory)
        remove_tree(f->directory);
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct command_files){ .fd = -1 };
}

static void tidy_one(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(directory);
    close(fd);
}

void command_files_tidy(const char *store_files)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    DIR *opened = opendir(store_files);
    while (opened && (entry = readdir(opened)) != NULL)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0) {
            snprintf(path, sizeof path, "%s/%s", store_files, entry->d_name);
            tidy_one(path);
        }
    if (opened)
        closedir(opened);
}
