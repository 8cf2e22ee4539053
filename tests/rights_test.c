// Files that belong to somebody else, or may only be read. Pawl refuses them before it changes
// anything, and names the file and the reason.
//
// Rights do not bind root: a child process gives them up before it tries. Whoever is not root takes
// them away from the files.
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "process.h"

enum { NOBODY = 65534 };

// What the child was told.
struct told {
    bool done;
    struct pawl_error why;
};

struct attempt {
    const char *url;
    bool read_only;
};

static bool try(const struct attempt *attempt, struct pawl_error *err)
{
    struct db *db = NULL;
    struct db_options options = {
        .url = str_of(attempt->url),
        .read_only = attempt->read_only,
        .busy_us = MILLISECONDS(100),
    };
    bool done = db_open(&db, &options, err);
    db_close(db);
    return done;
}

static _Noreturn void be_the_other(const struct attempt *attempt, int answer)
{
    struct told told = {0};
    bool changed = geteuid() != 0
                || (setresgid(NOBODY, NOBODY, NOBODY) == 0
                    && setresuid(NOBODY, NOBODY, NOBODY) == 0);
    told.done = changed && try(attempt, &told.why);
    _exit(changed && write(answer, &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
}

static struct told try_as_another(struct attempt attempt)
{
    struct told told = {0};
    int ends[2], status = -1;
    EXPECT(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0)
        be_the_other(&attempt, ends[1]);
    EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
    EXPECT_INT(status, 0);
    EXPECT(read(ends[0], &told, sizeof told) == (ssize_t)sizeof told);
    close(ends[0]);
    close(ends[1]);
    return told;
}

// A store that anybody may reach, with one job in it.
static struct scratch store_of_ours(void)
{
    struct scratch scratch = scratch_open();
    struct box box = { .url = str_of(scratch_store(&scratch)),
                       .caller = { .org_id = DEFAULT_ORG } };
    virtual_world_init(&box.world, SECONDS(1800000000), 42);
    box.db = box_second(&box, false);
    must_enqueue(&box, "report");
    db_close(box.db);
    EXPECT(chmod(scratch.path, 0755) == 0);
    return scratch;
}

static const struct {
    const char *says, *of;  // the reason, and the file
    mode_t directory, file, others;
    bool no_log, read_only;
} cases[] = {
    // The store of somebody else, or one that may only be read.
    { "cannot write", "/pawl.db: ", 0777, 0, 0666, false, false },
    { "cannot read", "/pawl.db: ", 0777, 0, 0666, false, true },
    { "cannot write", "/pawl.db: ", 0777, 0444, 0666, false, false },
    // What lies beside it: the log, its index, the lock.
    { "cannot write", "/pawl.db-wal: ", 0777, 0666, 0444, false, false },
    { "cannot read", "/pawl.db-wal: ", 0777, 0666, 0, false, true },
    { "cannot open the lock file", "/pawl.db-lock: ", 0777, 0666, 0444, true, false },
    // A directory in which nothing can be made.
    { "cannot make files in", "/: ", 0555, 0666, 0666, true, false },
    { "cannot make files in", "/: ", 0555, 0444, 0444, true, true },
};

static void set_rights(const struct scratch *scratch, size_t row)
{
    static const char *const names[] = { "pawl.db-lock", "pawl.db-wal", "pawl.db-shm" };
    for (size_t i = 0; i < countof(names); i++) {
        const char *file = scratch_file(scratch, names[i]);
        if (cases[row].no_log && i > 0)
            EXPECT(unlink(file) == 0 || access(file, F_OK) != 0);
        else if (access(file, F_OK) == 0)
            EXPECT(chmod(file, cases[row].others) == 0);
    }
    EXPECT(chmod(scratch_file(scratch, "pawl.db"), cases[row].file) == 0);
    EXPECT(chmod(scratch->path, cases[row].directory) == 0);
}

TEST(OPS_9_a_store_that_may_not_be_used_is_refused_by_name_and_reason)
{
    for (size_t i = 0; i < countof(cases); i++) {
        struct scratch scratch = store_of_ours();
        set_rights(&scratch, i);
        struct told told = try_as_another((struct attempt){ scratch_store(&scratch),
                                                            cases[i].read_only });
        bool clear = !told.done && told.why.code == PAWL_STORE
                  && strstr(told.why.message, cases[i].says)
                  && strstr(told.why.message, cases[i].of)
                  && strstr(told.why.message, "Permission denied");
        if (!clear)
            print_error("case %zu: %s\n", i, told.done ? "it was opened" : told.why.message);
        EXPECT(clear);
        EXPECT(chmod(scratch.path, 0755) == 0);
        EXPECT(chmod(scratch_file(&scratch, "pawl.db"), 0644) == 0);
        EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM jobs"), 1);
        scratch_close(&scratch);
    }
}

// What may be read can be read, whoever owns it.
TEST(OPS_9_a_store_of_somebody_else_can_be_read_when_its_files_may_be)
{
    struct scratch scratch = store_of_ours();
    struct box box = { .url = str_of(scratch_store(&scratch)) };
    virtual_world_init(&box.world, SECONDS(1800000000), 42);
    box.db = box_second(&box, false);  // so that the index of the log is there
    static const char *const names[] = { "pawl.db", "pawl.db-wal", "pawl.db-shm" };
    for (size_t i = 0; i < countof(names); i++)
        EXPECT(chmod(scratch_file(&scratch, names[i]), 0444) == 0);
    EXPECT(try_as_another((struct attempt){ scratch_store(&scratch), true }).done);
    db_close(box.db);
    scratch_close(&scratch);
}
