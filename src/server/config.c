// The file as a whole: its sections, what holds between them, and how it is loaded.
#include "server/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/secret.h"
#include "server/config_read.h"
#include "server/tls_pair.h"
#include "store/store_url.h"

enum { PAGE_BYTES_MAX = 64 << 10, TEXT_BYTES_MAX = 4096, PORT_MAX = 65535, SLURP_BYTES = 4096 };

// ----- kinds of its own

static void read_store(const struct reading *r, const struct config_row *row,
                       const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "a store such as sqlite:pawl.db or postgres://user@host/database";
    if (!node_is_text(r, node, want))
        return;
    if (!url_names_file(node->text) && !url_names_server(node->text))
        wrong(r, node, "must be %s", want);
    else
        *(struct str *)to = node->text;
}

bool listen_parse(struct arena *arena, struct str text, struct config_listen *listen)
{
    struct str host, port;
    int64_t number = 0;
    bool brackets = str_starts(text, S("["));
    struct str inside = { text.s + brackets, text.n - brackets };
    if (!str_cut(inside, brackets ? ']' : ':', &host, &port))
        return false;
    if (brackets && !str_starts(port, S(":")))
        return false;
    if (brackets)
        port = (struct str){ port.s + 1, port.n - 1 };
    if (host.n == 0 || host.n > KEY_BYTES_MAX || !str_int(port, &number) || number < 0
        || number > PORT_MAX)
        return false;
    *listen = (struct config_listen){ str_dup(arena, host), number };
    return true;
}

static void read_listen(const struct reading *r, const struct config_row *row,
                        const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "HOST:PORT such as 127.0.0.1:7319 or [::1]:7319";
    if (node_is_text(r, node, want) && !listen_parse(r->arena, node->text, to))
        wrong(r, node, "must be %s", want);
}

static json_t *show_listen(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    const struct config_listen *listen = from;
    bool colons = listen->host.n && memchr(listen->host.s, ':', listen->host.n);
    return json_string(str_format(arena, "%s%.*s%s:%lld", colons ? "[" : "", STR(listen->host),
                                  colons ? "]" : "", (long long)listen->port)
                           .s);
}

static json_t *show_str(struct arena *arena, const struct config_row *row, const void *from)
{
    return kind_text.show(arena, row, from);
}

// Without its passwords.
static json_t *show_store(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)row;
    struct str shown = url_shown(arena, *(const struct str *)from);
    return json_stringn(shown.s, shown.n);
}

static void read_word(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    const char *want = "1 to 16 of a-z 0-9";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    if (!node_is_text(r, node, want))
        return;
    if (node->text.n > (size_t)row->max || strspn(node->text.s, letters) != node->text.n)
        wrong(r, node, "must be %s", want);
    else
        *(struct str *)to = node->text;
}

static void read_file(const struct reading *r, const struct config_row *row,
                      const struct yaml_node *node, void *to)
{
    (void)row;
    if (!node_is_text(r, node, "a file"))
        return;
    const char *path = path_from(r, node->text);
    if (access(path, R_OK) != 0)
        wrong(r, node, "%s cannot be read: %s", path, strerrordesc_np(errno));
    else
        *(struct str *)to = str_of(path);
}

static void read_log_file(const struct reading *r, const struct config_row *row,
                          const struct yaml_node *node, void *to)
{
    (void)row;
    if (!node_is_text(r, node, "stderr or a file"))
        return;
    bool stream = str_eq(node->text, S("stderr"));
    *(struct str *)to = stream ? node->text : str_of(path_from(r, node->text));
}

static const struct config_kind kind_store = {
    "`sqlite:PATH` or `postgres://…`", read_store, show_store, NULL,
};
static const struct config_kind kind_listen = { "`HOST:PORT`", read_listen, show_listen, NULL };
static const struct config_kind kind_word = { "word", read_word, show_str, NULL };
static const struct config_kind kind_file = { "file", read_file, show_str, NULL };
static const struct config_kind kind_log_file = {
    "`stderr` or file", read_log_file, show_str, NULL,
};

// ----- the tables

static const char *const levels[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning",
    NULL,
};
static const char *const durabilities[] = { [DURABILITY_FULL] = "full", NULL };

// clang-format off
static const struct config_row auth_rows[] = {
    { "viewer_sees_payload", &kind_switch, MEMBER(config_auth, viewer_sees_payload), "false",
      "whether keys of role viewer see payloads and results" },
    { "environment", &kind_word, MEMBER(config_auth, environment), "live",
      "the second word of new keys: `pawl_live_...`", .max = 16 },
    { "rate", &kind_number, MEMBER(config_auth, rate), "0",
      "requests a second that one key may make; 0 is no limit", 0, 1000000 },
    { "behind_proxy", &kind_switch, MEMBER(config_auth, behind_proxy), "false",
      "whether a proxy stands before the server: the client's address is in `X-Forwarded-For`" },
};
static const struct config_table auth_table = TABLE("auth", auth_rows);

static const struct config_row tls_rows[] = {
    { "certificate", &kind_file, MEMBER(config_tls, certificate), NULL,
      "the certificate chain, PEM; together with `key`" },
    { "key", &kind_file, MEMBER(config_tls, key), NULL,
      "its private key, PEM; the file must not be readable by everybody" },
};
static const struct config_table tls_table = TABLE("tls", tls_rows);

#define LIMIT(member) MEMBER(config_limits, member)
static const struct config_row limit_rows[] = {
    { "payload", &kind_size, LIMIT(payload_bytes), "1MiB", "of one job", 1 << 10, 1 << 20 },
    { "result", &kind_size, LIMIT(result_bytes), "1MiB", "of one job", 1 << 10, 1 << 20 },
    { "body", &kind_size, LIMIT(body_bytes), "8MiB", "of one request; at least `payload`",
      1 << 10, 64 << 20 },
    { "artifact_bytes", &kind_size, LIMIT(artifact_bytes), "1GiB", "of one artifact",
      1 << 10, (int64_t)1 << 40 },
    { "bulk_jobs", &kind_number, LIMIT(bulk_jobs), "1000", "jobs in one request", 1, 10000 },
    { "json_depth", &kind_number, LIMIT(json_depth), "32",
      "levels of nesting in a request or a job", 4, JSON_DEPTH_MAX },
    { "connections", &kind_number, LIMIT(connections), "10000", "at once", 1, 1000000 },
    { "connections_per_address", &kind_number, LIMIT(connections_per_address), "0",
      "at once from one address; 0 is no limit", 0, 1000000 },
    { "header_time", &kind_duration, LIMIT(header_us), "10s",
      "how long a client may take to send a request's head", SECONDS(1), HOURS(1) },
    { "body_time", &kind_duration, LIMIT(body_us), "60s",
      "how long a client may take to send a request's body", SECONDS(1), HOURS(1) },
    { "idle_time", &kind_duration, LIMIT(idle_us), "30s",
      "how long a connection may stand idle between requests", SECONDS(1), HOURS(1) },
    { "wait", &kind_duration, LIMIT(wait_us), "30s",
      "how long a request may wait for something to happen (`wait_ms`)", SECONDS(1), MINUTES(10) },
    { "waiting", &kind_number, LIMIT(waiting), "10000",
      "operations that may wait for the store, beyond which requests are answered with 503",
      1, 1000000 },
    { "workers", &kind_number, LIMIT(workers), "0",
      "commands that run at once; 0 is one per processor, and at least 4", 0, 1000 },
    { "grace", &kind_duration, LIMIT(grace_us), "10s",
      "how long what runs has to end, after its deadline, a cancellation or SIGTERM",
      MILLISECONDS(100), HOURS(1) },
    { "log_bytes", &kind_size, LIMIT(log_bytes), "256KiB", "kept of the log of one execution",
      0, 16 << 20 },
    { "critical_depth", &kind_number, LIMIT(critical_depth), "1000",
      "jobs that may wait in `q:critical`; 0 is no limit", 0, 1000000000 },
    { "bulk_letters", &kind_number, LIMIT(bulk_letters), "500",
      "dead letters of one org that are replayed or discarded in bulk a second; more is answered "
      "with 429; 0 is no limit", 0, 1000000 },
    { "org_max_running", &kind_number, LIMIT(org.max_running), NULL,
      "jobs of one org that may run at once, in all processes together, unless it has a limit of "
      "its own (`pawl org limit`); else no limit", 1, RUNNING_MAX },
    { "org_rate", &kind_rate, LIMIT(org.rate), NULL,
      "how many jobs of one org may begin per time; else no limit" },
};
static const struct config_table limit_table = TABLE("limits", limit_rows);

static const struct config_row log_rows[] = {
    { "level", &kind_choice, MEMBER(config_log, level), "info", "the least that is logged",
      .words = levels },
    { "file", &kind_log_file, MEMBER(config_log, file), "stderr", "where it goes" },
};
static const struct config_table log_table = TABLE("log", log_rows);

// In the order in which they are read: policies before what names them.
static const struct config_row rows[] = {
    { "store", &kind_store, MEMBER(config, store), "sqlite:pawl.db",
      "where the jobs are; relative to the working directory" },
    { "listen", &kind_listen, MEMBER(config, listen), "127.0.0.1:7319",
      "the address of the server; port 0 is any free one" },
    { "instance", &kind_name, MEMBER(config, instance), NULL,
      "a name that stays the same over restarts and that no other server on the store has; else "
      "host and port" },
    { "auth", &kind_section, MEMBER(config, auth), NULL, "keys and what they may do",
      .table = &auth_table },
    { "tls", &kind_section, MEMBER(config, tls), NULL, "HTTPS instead of HTTP",
      .table = &tls_table },
    { "limits", &kind_section, MEMBER(config, limits), NULL, "sizes, numbers and times",
      .table = &limit_table },
    { "durability", &kind_choice, MEMBER(config, durability), "full",
      "what is answered is on disk", .words = durabilities },
    { "log", &kind_section, MEMBER(config, log), NULL, "what the server says",
      .table = &log_table },
    { "policies", &kind_policies, .offset = offsetof(struct config, policies),
      .meaning = "how jobs are retried, by name", .table = &policy_table },
    { "queues", &kind_queues, .offset = offsetof(struct config, queues),
      .meaning = "weights and depths; queues need not be named here to be used",
      .table = &queue_table },
    { "job_types", &kind_types, .offset = offsetof(struct config, types),
      .meaning = "what the types of jobs are and how they are run", .table = &type_table },
    { "schedules", &kind_schedules, .offset = offsetof(struct config, schedules),
      .meaning = "jobs that come by the clock", .table = &schedule_table },
    { "retention", &kind_section, MEMBER(config, retention), NULL,
      "how long what has ended is kept", .table = &retention_table },
    { "tracing", &kind_section, MEMBER(config, tracing), NULL, "where traces go",
      .table = &tracing_table },
    { "alerts", &kind_alerts, .offset = offsetof(struct config, alerts),
      .meaning = "who is told when a job ends badly: a list of targets", .table = &alert_table },
};
// clang-format on
static const struct config_table file_table = TABLE("pawl.yaml", rows);

static const struct config_table *const tables[] = {
    &file_table, &auth_table, &tls_table, &limit_table, &log_table,
    &policy_table, &queue_table, &type_table, &schedule_table, &alert_table,
    &tracing_table, &retention_table,
};

const struct config_table *config_table(size_t index)
{
    return index < countof(tables) ? tables[index] : NULL;
}

struct str config_keys(struct arena *arena)
{
    struct buf page = buf_new(arena, PAGE_BYTES_MAX);
    for (size_t i = 0; i < countof(tables); i++)
        table_describe(tables[i], &page);
    return buf_str(&page);
}

json_t *config_json(struct arena *arena, const struct config *config)
{
    return table_show(arena, &file_table, config);
}

// ----- loading

struct config config_default(struct arena *arena)
{
    struct config config = { .directory = S(".") };
    struct yaml_faults none = { .arena = arena };
    struct reading r = { arena, &none, &config, NULL };
    table_defaults(&r, &file_table, &config);
    queues_default(arena, &config);
    return config;
}

// A secret in the file is in its backups and in everybody's editor.
static void refuse_secrets(const struct reading *r, const struct yaml_node *node)
{
    struct problems found = { .arena = r->arena };
    if (node->kind == YAML_TEXT && node->text.n) {
        SCOPED(json) json_t *text = json_stringn(node->text.s, node->text.n);
        if (text && !secret_none(text, "", &found))
            wrong(r, node, "looks like a secret: secrets come from files or the environment");
    }
    size_t i = 0;
    for (const struct yaml_node *child = node->first; child; child = child->next, i++) {
        struct yaml_path path = { r->path, child->key, i };
        refuse_secrets(&(struct reading){ r->arena, r->faults, r->config, &path }, child);
    }
}

static void check_pair(const struct reading *r, const struct yaml_node *certificate)
{
    const struct config_tls *tls = &r->config->tls;
    if (tls->certificate.n == 0 || tls->key.n == 0)
        return;  // and that was said
    const char *fault = tls_pair_fault(tls->certificate.s, tls->key.s);
    if (fault)
        wrong(r, certificate, "cannot be used with the key %s: %s", tls->key.s, fault);
}

static void check_tls(const struct reading *r, const struct yaml_node *root)
{
    const struct yaml_node *tls = node_find(root, "tls");
    const struct yaml_node *certificate = tls ? node_find(tls, "certificate") : NULL;
    const struct yaml_node *key = tls ? node_find(tls, "key") : NULL;
    struct stat file;
    if (!tls)
        return;
    const struct reading *at = SUB(r, tls);
    if (!certificate != !key)
        wrong_key(at, tls, "needs both certificate and key");
    if (key && r->config->tls.key.n && stat(r->config->tls.key.s, &file) == 0
        && (file.st_mode & S_IROTH))
        wrong(SUB(at, key), key, "%s can be read by everybody: chmod o-r", r->config->tls.key.s);
    if (certificate && key)
        check_pair(SUB(at, certificate), certificate);
}

static void check_limits(const struct reading *r, const struct yaml_node *root)
{
    const struct yaml_node *limits = node_find(root, "limits");
    const struct yaml_node *body = limits ? node_find(limits, "body") : NULL;
    const struct reading *at = limits ? SUB(r, limits) : r;
    if (body && r->config->limits.body_bytes < r->config->limits.payload_bytes)
        wrong(SUB(at, body), body, "must be at least as large as limits.payload");
}

static void read_tree(const struct reading *r, const struct yaml_node *root)
{
    if (!node_is_map(r, root, "a map of keys such as job_types"))
        return;
    refuse_secrets(r, root);
    table_read(r, &file_table, root, r->config);
    if (!node_find(root, "queues"))
        queues_default(r->arena, r->config);  // again: the depth of q:critical may be another
    check_tls(r, root);
    check_limits(r, root);
}

// In pieces: the file may be a megabyte, and is a page or two.
static bool slurp(struct arena *arena, const char *path, struct str *text, struct pawl_error *err)
{
    struct buf bytes = buf_new(arena, YAML_BYTES_MAX + SLURP_BYTES);
    char part[SLURP_BYTES];
    ssize_t got = 1;
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_INVALID, "cannot read %s: %s",
                    path, strerrordesc_np(errno));
    if (fstat(fd, &file) == 0 && S_ISDIR(file.st_mode))
        got = -1, errno = EISDIR;
    while (got > 0 && !bytes.full && bytes.n <= YAML_BYTES_MAX
           && (got = read(fd, part, sizeof(part))) > 0)
        buf_add(&bytes, (struct str){ part, (size_t)got });
    int why = errno;
    close(fd);
    if (bytes.full)
        return fail(err, PAWL_NO_MEMORY, "no memory to read %s", path);
    *text = buf_str(&bytes);
    return got >= 0 || fail(err, PAWL_INVALID, "cannot read %s: %s", path, strerrordesc_np(why));
}

// Absolute, so that it stays right when somebody changes the working directory. Without it commands
// would be looked for where this program happens to be: another of the same name might run.
static bool directory_of(struct arena *arena, const char *path, struct str *directory,
                         struct pawl_error *err)
{
    char whole[PATH_MAX];
    if (!realpath(path, whole))
        return fail(err, errno == ENOMEM ? PAWL_NO_MEMORY : PAWL_INVALID,
                    "cannot find the directory of %s: %s", path, strerrordesc_np(errno));
    char *slash = strrchr(whole, '/');
    size_t n = slash && slash != whole ? (size_t)(slash - whole) : 1;
    *directory = str_dup(arena, (struct str){ whole, n });
    return true;
}

static bool none_wrong(const struct yaml_faults *faults, struct arena *arena,
                       struct pawl_error *err)
{
    if (arena->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to read %.*s", STR(faults->path));
    if (faults->count == 0)
        return true;
    struct str first = yaml_fault_text(arena, faults, 0);
    if (faults->count == 1)
        return fail(err, PAWL_INVALID, "%.*s", STR(first));
    return fail(err, PAWL_INVALID, "%.*s (and %s%zu more)", STR(first),
                faults->more ? "over " : "", faults->count - 1);
}

bool config_load(struct arena *arena, const char *path, struct config *config,
                 struct yaml_faults *faults, struct pawl_error *err)
{
    struct str text = S("");
    *faults = (struct yaml_faults){ .arena = arena, .path = str_dup(arena, str_of(path)) };
    *config = config_default(arena);
    if (!slurp(arena, path, &text, err) || !directory_of(arena, path, &config->directory, err))
        return false;
    config->path = faults->path;
    const struct yaml_node *root = yaml_parse(text, faults);
    if (root)
        read_tree(&(struct reading){ arena, faults, config, NULL }, root);
    yaml_faults_sort(faults);
    return none_wrong(faults, arena, err);
}
