// Makes a backup or restores one, and dies on the way if told to.
//
//     copier backup|restore STORE FILE [POINT | full]
//
// POINT counts the stages from 1: it is killed when that one begins. `full`: no file may have more
// than 100 KiB, as if the disk had no more. Ends with the exit status of the error.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/backup.h"

static const struct caller operator = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_USER,
    .actor_id = { "operator", 8 },
    .request_id = { "request-1", 9 },
    .correlation_id = { "correlation-1", 13 },
};

static long stages_left;

static void at_stage(void *self, enum copy_stage stage)
{
    (void)self;
    (void)stage;
    if (--stages_left == 0)
        kill(getpid(), SIGKILL);
}

static bool act(char **argv, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct copy_audience audience = { .stage = at_stage };
    struct backup backup = {
        .store = str_of(argv[2]),
        .file = argv[3],
        .audience = audience,
        .world = world_real(),
    };
    struct restore restore = {
        .store = str_of(argv[2]),
        .file = argv[3],
        .audience = audience,
        .world = world_real(),
        .force = true,
        .caller = &operator,
    };
    struct backup_report backed_up;
    struct restore_report restored;
    return strcmp(argv[1], "backup") == 0 ? backup_make(&backup, &backed_up, err)
                                          : restore_make(&restore, &restored, &arena, err);
}

int main(int argc, char **argv)
{
    struct pawl_error err = {0};
    if (argc < 4)
        return 2;
    if (argc > 4 && strcmp(argv[4], "full") == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 102400, 102400 });
    } else if (argc > 4) {
        stages_left = strtol(argv[4], NULL, 10);
    }
    if (act(argv, &err))
        return 0;
    fprintf(stderr, "copier: %s\n", err.message);
    return pawl_code(err.code)->exit;
}
