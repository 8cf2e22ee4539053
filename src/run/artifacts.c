// Artifacts of a run: the files that come of it, and those that it works on.
//
// Bytes are read and written on the handler's own thread; only rows go through the pipeline.
#include "engine/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/input.h"
#include "run/handle.h"
#include "run/runner.h"
#include "store/blob.h"

enum { BLOCK_BYTES = 64 << 10, ARTIFACTS_MAX = 100 };

// ----- out

struct adding {
    struct operation operation;
    const struct blob *blob;
    struct artifact artifact;
};

static bool add_row(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct adding *adding = (struct adding *)self;
    return artifact_add(tx, adding->blob, &adding->artifact, err);
}

static bool copy(int from, struct blob *blob, int64_t bytes_max, struct pawl_error *err)
{
    char block[BLOCK_BYTES];
    ssize_t n = 0;
    while ((n = read(from, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && bytes_max && blob->bytes + n > bytes_max)
            return fail(err, PAWL_TOO_LARGE, "it has more than %lld bytes", (long long)bytes_max);
        if (n > 0 && !blob_write(blob, block, (size_t)n, err))
            return false;
    }
    return n == 0 || fail(err, PAWL_STORE, "it cannot be read: %s", strerrordesc_np(errno));
}

static bool open_file(const char *path, int *fd, struct pawl_error *err)
{
    struct stat about;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return fail(err, PAWL_INVALID, "it cannot be read: %s", strerrordesc_np(errno));
    return (fstat(*fd, &about) == 0 && S_ISREG(about.st_mode))
        || fail(err, PAWL_INVALID, "it is no file");
}

// The file, then its row; then it is one of those that the commit names.
static bool add(struct pawl_run *run, const struct run_file *file, struct blob *blob,
                struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct problems problems = { .arena = &arena };
    struct adding adding = {
        .operation = { .run = add_row, .arena = &arena },
        .blob = blob,
        .artifact = { .org_id = run->contract.org_id,
                      .project_id = run->contract.project_id,
                      .name = str_of(file->name),
                      .content_type = str_of(file->content_type) },
    };
    artifact_check(NULL, &adding.artifact, &problems);
    if (!problems_none(&problems, err) || !blob_settle(blob, err)
        || !run_do(run, &adding.operation, err))
        return false;
    struct id *id = list_add(&run->artifacts);
    if (id)
        *id = adding.artifact.id;
    return id || fail(err, PAWL_NO_MEMORY, "no memory for an artifact");
}

static bool store(struct pawl_run *run, const struct run_file *file, const char *directory,
                  struct pawl_error *err)
{
    struct blob blob = {0};
    int fd = -1;
    bool done = open_file(file->path, &fd, err)
             && blob_create(directory, run->pawl->world, &blob, err)
             && copy(fd, &blob, file->bytes_max, err) && add(run, file, &blob, err);
    if (fd >= 0)
        close(fd);
    if (done || err->code == PAWL_IN_DOUBT)
        blob_keep(&blob);
    else
        blob_drop(&blob);
    return done;
}

bool run_artifact(struct pawl_run *run, const struct run_file *file)
{
    struct pawl_error err = {0};
    if (!run_may_say(run, "pawl_artifact"))
        return false;
    if (run->artifacts.count >= ARTIFACTS_MAX)
        return pawl_fail(run, PAWL_RESOURCE_LIMIT, "there are more than %d artifacts",
                         ARTIFACTS_MAX);
    char *directory = blobs_path(str_of(run->pawl->options.store));
    bool done = directory ? store(run, file, directory, &err)
                          : fail(&err, PAWL_NO_MEMORY, "no memory for an artifact");
    free(directory);
    if (done)
        return true;
    bool too_large = err.code == PAWL_TOO_LARGE, wrong = err.code == PAWL_INVALID;
    return pawl_fail(run, too_large ? PAWL_RESOURCE_LIMIT : wrong ? PAWL_VALIDATION
                                                                  : PAWL_TRANSIENT,
                     "artifact %s: %s", file->name, err.message);
}

bool pawl_artifact(struct pawl_run *run, const char *path, const char *content_type)
{
    const char *slash = strrchr(path, '/');
    return run_artifact(run, &(struct run_file){ .path = path,
                                                 .name = slash ? slash + 1 : path,
                                                 .content_type = content_type });
}

// ----- in

struct finding {
    struct operation operation;
    struct pawl_run *run;
    const struct inputs *wanted;
    struct artifact *found;
};

static bool find_rows(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct finding *f = (struct finding *)self;
    struct caller org = { .org_id = f->run->contract.org_id };
    const struct caller *asks = tx->caller;
    bool found = true;
    tx->caller = &org;
    for (size_t i = 0; found && i < f->wanted->count; i++)
        found = artifact_load(tx, f->wanted->at[i].artifact, &f->found[i], err);
    tx->caller = asks;
    return found;
}

static bool check_file(struct pawl_run *run, const char *directory, const struct artifact *a,
                       struct run_input *input, struct pawl_error *err)
{
    struct pawl_error why = {0};
    struct str id = id_text(&run->arena, a->id);
    input->id = a->id;
    input->path = str_format(&run->arena, "%s/%.*s", directory, STR(a->file)).s;
    return blob_check(directory, a->file, a->bytes, a->sha256, &why)
        || fail(err, why.code, "input artifact %.*s: %s", STR(id), why.message);
}

static bool find(struct pawl_run *run, const struct inputs *wanted, struct run_input *inputs,
                 struct pawl_error *err)
{
    struct finding f = {
        .operation = { .run = find_rows, .arena = &run->arena },
        .run = run,
        .wanted = wanted,
        .found = arena_new(&run->arena, struct artifact, wanted->count + 1),
    };
    if (!f.found || !inputs)
        return fail(err, PAWL_NO_MEMORY, "no memory for inputs");
    char *directory = blobs_path(str_of(run->pawl->options.store));
    bool done = directory ? run_do(run, &f.operation, err)
                          : fail(err, PAWL_NO_MEMORY, "no memory for inputs");
    for (size_t i = 0; done && i < wanted->count; i++)
        done = check_file(run, directory, &f.found[i], &inputs[i], err);
    free(directory);
    return done;
}

bool run_inputs(struct pawl_run *run, struct run_input **inputs, size_t *count)
{
    struct problems ignored = { .arena = &run->arena };
    struct pawl_error err = {0};
    *count = 0;
    if (!run->has_inputs)
        return true;
    struct inputs wanted = inputs_read(str_of(run->payload), "", &ignored);
    *inputs = arena_new(&run->arena, struct run_input, wanted.count + 1);
    if (wanted.count == 0)
        return true;
    if (!find(run, &wanted, *inputs, &err)) {
        bool gone = err.code == PAWL_NOT_FOUND || err.code == PAWL_DAMAGED;
        return pawl_fail(run, gone ? PAWL_INVALID_INPUT : PAWL_TRANSIENT, "%s", err.message);
    }
    *count = wanted.count;
    return true;
}
