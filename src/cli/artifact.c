// pawl artifact: put a file into the store, get one out, show what is known of it, remove it.
#include "cli/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"
#include "cli/verb.h"

enum { BLOCK_BYTES = 64 << 10 };

// ----- flow

int64_t flow_read(struct flow *flow, void *bytes, size_t room)
{
    ssize_t n;
    do
        n = read(flow->fd, bytes, room);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        hash_add(&flow->hash, bytes, (size_t)n);
    flow->done += n > 0 ? n : 0;
    progress_show(&flow->bar, flow->done, flow->total);
    return n;
}

bool flow_write(struct flow *flow, const void *bytes, size_t n)
{
    hash_add(&flow->hash, bytes, n);
    for (size_t done = 0; done < n;) {
        ssize_t some = write(flow->fd, (const char *)bytes + done, n - done);
        if (some < 0 && errno != EINTR)
            return false;
        done += some > 0 ? (size_t)some : 0;
    }
    flow->done += (int64_t)n;
    progress_show(&flow->bar, flow->done, flow->total);
    return true;
}

static struct flow flow_of(const struct cli *cli, int fd, const char *what)
{
    struct flow flow = { .fd = fd, .bar = { .world = cli->world, .what = what } };
    hash_begin(&flow.hash);
    return flow;
}

// ----- put

static struct str base_name(struct str path)
{
    const char *slash = path.n ? memrchr(path.s, '/', path.n) : NULL;
    return slash ? str_of(slash + 1) : path;
}

// A file is read twice, so that it can be said beforehand what must arrive.
static bool read_ahead(struct cli *cli, struct put *put, struct pawl_error *err)
{
    char block[BLOCK_BYTES], digits[HASH_DIGITS + 1];
    struct stat about;
    if (fstat(put->flow.fd, &about) != 0 || !S_ISREG(about.st_mode))
        return true;
    struct flow first = flow_of(cli, put->flow.fd, "read");
    first.total = put->flow.total = about.st_size;
    int64_t n = 0;
    while ((n = flow_read(&first, block, sizeof block)) > 0)
        ;
    progress_hide(&first.bar);
    hash_end(&first.hash, digits);
    put->sha256 = str_dup(&cli->arena, str_of(digits));
    return (n == 0 && lseek(put->flow.fd, 0, SEEK_SET) == 0)
        || fail(err, PAWL_STORE, "the file cannot be read: %s", strerror(errno));
}

static bool put_open(struct cli *cli, struct put *put, struct pawl_error *err)
{
    struct str file = cli->words[1];
    bool standard = str_eq(file, S("-"));
    int fd = standard ? 0 : open(str_cstr(&cli->arena, file), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_STORE, "cannot read %.*s: %s",
                    STR(file), strerror(errno));
    put->flow = flow_of(cli, fd, "put");
    put->artifact.name = cli->given[OPTION_NAME] ? cli->value[OPTION_NAME]
                       : standard                ? S("")
                                                 : base_name(file);
    put->artifact.project_id = cli->value[OPTION_PROJECT];
    put->artifact.content_type = cli->given[OPTION_CONTENT_TYPE] ? cli->value[OPTION_CONTENT_TYPE]
                                                                 : CONTENT_TYPE_DEFAULT;
    return true;
}

static bool arrived(struct put *put, const json_t *artifact, struct pawl_error *err)
{
    char digits[HASH_DIGITS + 1];
    hash_end(&put->flow.hash, digits);
    return str_eq(object_text(artifact, "sha256"), str_of(digits))
        || fail(err, PAWL_DAMAGED, "what is stored is not what was sent: its SHA-256 is another");
}

static bool print_artifact(struct cli *cli, json_t *a, struct pawl_error *err)
{
    static const char *const fields[] = { "artifact_id", "name", "bytes", "content_type", "sha256",
                                          "project_id", "made_by", "created_at", "job_id",
                                          "authoritative" };
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(a), err);
    for (size_t i = 0; i < countof(fields); i++) {
        struct str text = object_text(a, fields[i]);
        if (text.n == 0)
            text = object_value(&cli->arena, a, fields[i]);
        if (text.n)
            printf("%-14s %.*s\n", fields[i], STR(safe(&cli->arena, text)));
    }
    return true;
}

static bool put_file(struct cli *cli, struct pawl_error *err)
{
    struct put put = {0};
    SCOPED(json) json_t *artifact = NULL;
    bool done = put_open(cli, &put, err) && read_ahead(cli, &put, err)
             && cli->backend->artifact_put(cli, &put, &artifact, err);
    progress_hide(&put.flow.bar);
    if (put.flow.fd > 0)
        close(put.flow.fd);
    return done && arrived(&put, artifact, err) && print_artifact(cli, artifact, err);
}

// ----- get

// A file is there under its name only when all of it is, and is what it should be.
struct target {
    struct str path, part;  // empty: standard output
    int fd;
};

static bool target_open(struct cli *cli, struct target *t, struct pawl_error *err)
{
    *t = (struct target){ .fd = 1 };
    if (!cli->given[OPTION_OUTPUT] || str_eq(cli->value[OPTION_OUTPUT], S("-")))
        return !is_terminal(1)
            || usage(cli, err, "the bytes would go to the terminal: say --output FILE, or "
                               "--output - if that is meant and standard output is no terminal");
    t->path = cli->value[OPTION_OUTPUT];
    t->part = str_format(&cli->arena, "%.*s.part", STR(t->path));
    t->fd = open(str_cstr(&cli->arena, t->part), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return t->fd >= 0
        || fail(err, PAWL_STORE, "cannot write %.*s: %s", STR(t->part), strerror(errno));
}

static bool target_end(struct cli *cli, struct target *t, bool good, struct pawl_error *err)
{
    if (t->path.n == 0)
        return good;
    bool closed = close(t->fd) == 0;
    const char *part = str_cstr(&cli->arena, t->part), *path = str_cstr(&cli->arena, t->path);
    if (good && closed && rename(part, path) == 0)
        return true;
    int why = errno;
    unlink(part);
    return good ? fail(err, PAWL_STORE, "cannot write %.*s: %s", STR(t->path), strerror(why))
                : false;
}

static bool same(struct flow *flow, const json_t *artifact, struct pawl_error *err)
{
    char digits[HASH_DIGITS + 1];
    hash_end(&flow->hash, digits);
    return str_eq(object_text(artifact, "sha256"), str_of(digits))
        || fail(err, PAWL_DAMAGED, "what came is not the artifact: its SHA-256 is %s", digits);
}

static bool get_file(struct cli *cli, struct pawl_error *err)
{
    struct id id = {0};
    struct target target;
    SCOPED(json) json_t *artifact = NULL;
    if (!value_id(cli, cli->words[1], &id, err) || !cli->backend->artifact(cli, id, &artifact, err)
        || !target_open(cli, &target, err))
        return false;
    struct flow flow = flow_of(cli, target.fd, "get");
    flow.total = object_number(artifact, "bytes");
    bool good = cli->backend->artifact_bytes(cli, id, &flow, err);
    progress_hide(&flow.bar);
    return target_end(cli, &target, good && same(&flow, artifact, err), err);
}

// ----- show

static bool show(struct cli *cli, struct pawl_error *err)
{
    struct id id = {0};
    SCOPED(json) json_t *artifact = NULL;
    return value_id(cli, cli->words[1], &id, err)
        && cli->backend->artifact(cli, id, &artifact, err) && print_artifact(cli, artifact, err);
}

// ----- rm

static bool remove_it(struct cli *cli, struct pawl_error *err)
{
    struct id id = {0};
    SCOPED(json) json_t *artifact = NULL;
    if (!value_id(cli, cli->words[1], &id, err)
        || !cli->backend->artifact_remove(cli, id, &artifact, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(artifact), err);
    printf("%.*s  %lld bytes  removed\n", STR(id_text(&cli->arena, id)),
           (long long)object_number(artifact, "bytes"));
    return true;
}

bool command_artifact(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "put", 2, put_file },
        { "get", 2, get_file },
        { "show", 2, show },
        { "rm", 2, remove_it },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
