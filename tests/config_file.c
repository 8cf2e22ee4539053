// The directory is removed with everything a test has put into it.
#include "config_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct str within(const struct config_file *file, const char *name)
{
    return str_format(test_arena(), "%s/%s", file->directory, name);
}

void config_file_open(struct config_file *file)
{
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    *file = (struct config_file){0};
    snprintf(file->directory, sizeof file->directory, "%s/pawl-config-XXXXXX", memory);
    EXPECT(mkdtemp(file->directory) != NULL);
    file->path = within(file, "pawl.yaml");
}

void config_file_close(struct config_file *file)
{
    DIR *directory = opendir(file->directory);
    EXPECT(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            EXPECT(remove(within(file, entry->d_name).s) == 0);
    closedir(directory);
    EXPECT(rmdir(file->directory) == 0);
}

const char *config_file_put(struct config_file *file, const char *name, struct str text, int mode)
{
    const char *path = within(file, name).s;
    FILE *to = fopen(path, "wb");
    EXPECT(to != NULL);
    size_t written = fwrite(text.s, 1, text.n, to);
    bool closed = fclose(to) == 0;
    EXPECT(written == text.n && closed && chmod(path, (mode_t)mode) == 0);
    return path;
}

bool config_file_load(struct config_file *file, struct str text)
{
    config_file_put(file, "pawl.yaml", text, 0644);
    return config_load(test_arena(), file->path.s, &file->config, &file->faults, &file->err);
}

struct config *must_configure(struct config_file *file, const char *text)
{
    char *copy = arena_alloc(test_arena(), strlen(text) + 1);
    for (size_t i = 0; text[i]; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    bool fine = config_file_load(file, str_of(copy));
    expect_done(fine, &file->err, PLACE("the configuration is fine"));
    return &file->config;
}

struct str config_file_faults(const struct config_file *file)
{
    struct buf lines = buf_new(test_arena(), (size_t)1 << 20);
    for (size_t i = 0; i < file->faults.count; i++) {
        struct str line = yaml_fault_text(test_arena(), &file->faults, i);
        EXPECT(str_starts(line, file->path));
        buf_add(&lines, (struct str){ line.s + file->path.n + 1, line.n - file->path.n - 1 });
        buf_add_char(&lines, '\n');
    }
    return buf_str(&lines);
}

struct str config_file_refused(struct config_file *file, const char *text)
{
    EXPECT(!config_file_load(file, str_of(text)));
    EXPECT_INT(file->err.code, PAWL_INVALID);
    return config_file_faults(file);
}

void expect_fault(struct config_file *file, const char *text, const char *fault)
{
    struct str said = config_file_refused(file, text);
    bool found = memmem(said.s, said.n, fault, strlen(fault)) != NULL;
    if (!found)
        print_error("%s\nsays\n%.*sand not\n%s\n", text, STR(said), fault);
    EXPECT(found);
}
