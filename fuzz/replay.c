// Gives the files of a directory to a fuzz target, one after the other: replay DIRECTORY.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/text.h"
#include "fuzz/fuzz.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static bool replay(const char *directory, const char *name)
{
    SCOPED(arena) struct arena arena = {0};
    const char *path = str_format(&arena, "%s/%s", directory, name).s;
    uint8_t *bytes = arena_new(&arena, uint8_t, FILE_BYTES_MAX);
    FILE *file = fopen(path, "rb");
    if (!file || !bytes)
        return false;
    size_t n = fread(bytes, 1, FILE_BYTES_MAX, file);
    bool whole = !ferror(file);
    fclose(file);
    // A copy of its very size, so that a sanitizer sees who reads past the end.
    uint8_t *copy = malloc(n + (n == 0));
    if (!copy)
        return false;
    for (size_t i = 0; i < n; i++)
        copy[i] = bytes[i];
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    return whole;
}

int main(int argc, char **argv)
{
    size_t passed = 0, failed = 0;
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (!directory)
        return 2;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        if (replay(argv[1], entry->d_name))
            passed++;
        else
            failed++;
    }
    closedir(directory);
    printf("pawl-cases: %zu passed, %zu failed\n", passed, failed);
    return passed > 0 && failed == 0 ? 0 : 1;
}
