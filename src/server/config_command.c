// Commands and their environment. There is no shell: a command is a list of words, the first of
// which is a program that is there when the configuration is read. Secrets are not written into the
// configuration: a variable takes them from a file or from our own environment.
#include "server/config_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"

enum { WORDS_MAX = 1000, VARIABLE_BYTES_MAX = 64 << 10 };

const char *path_from(const struct reading *r, struct str path)
{
    if (str_starts(path, S("/")))
        return str_cstr(r->arena, path);
    return str_format(r->arena, "%.*s/%.*s", STR(r->config->directory), STR(path)).s;
}

// NULL: there is none. Nobody here changes the environment, so it may be read by any thread.
static const char *our_variable(const char *name)
{
    return getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

// ----- programs

static bool runnable(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

// As execvp looks for it. NULL: it is nowhere.
static const char *search(const struct reading *r, struct str name)
{
    struct str rest = str_of(our_variable("PATH")), folder;
    bool more = true;
    while (more) {
        more = str_cut(rest, ':', &folder, &rest);
        if (folder.n == 0)
            continue;
        struct str path = str_format(r->arena, "%.*s/%.*s", STR(folder), STR(name));
        if (runnable(path.s))
            return path.s;
    }
    return NULL;
}

static const char *program(const struct reading *r, const struct yaml_node *node)
{
    struct str name = node->text;
    if (name.n == 0 || !memchr(name.s, '/', name.n)) {
        const char *found = name.n ? search(r, name) : NULL;
        if (!found)
            wrong(r, node, "there is no program of this name in $PATH");
        return found;
    }
    const char *path = path_from(r, name);
    if (runnable(path))
        return path;
    wrong(r, node, "%s cannot be run: %s", path,
          access(path, F_OK) == 0 ? "it is no executable file" : strerrordesc_np(errno));
    return NULL;
}

// `./export --all` was probably meant as ["./export", "--all"].
static void refuse_line(const struct reading *r, const struct yaml_node *node)
{
    struct buf list = buf_new(r->arena, KEY_BYTES_MAX);
    struct str rest = node->text, word;
    bool more = true;
    while (more) {
        more = str_cut(rest, ' ', &word, &rest);
        if (word.n)
            buf_addf(&list, "%s\"%.*s\"", list.n ? ", " : "", STR(word));
    }
    if (yaml_null(node) || list.full || list.n == 0)
        wrong(r, node, "must be a list of words: [\"./program\", \"argument\"]");
    else
        wrong(r, node, "must be a list of words, since there is no shell: [%.*s]",
              STR(buf_str(&list)));
}

static const char *word(const struct reading *r, const struct yaml_node *node, bool first)
{
    if (node->kind != YAML_TEXT || yaml_null(node)) {
        wrong(r, node, "must be a text");
        return NULL;
    }
    return first ? program(r, node) : str_cstr(r->arena, node->text);
}

static void read_command(const struct reading *r, const struct config_row *row,
                         const struct yaml_node *list, void *to)
{
    (void)row;
    if (list->kind != YAML_LIST) {
        refuse_line(r, list);
        return;
    }
    if (list->count == 0 || list->count > WORDS_MAX) {
        wrong(r, list, "must have 1 to %d words", WORDS_MAX);
        return;
    }
    const char **words = arena_new(r->arena, const char *, list->count + 1);
    if (!words)
        return;
    size_t count = 0;
    for (const struct yaml_node *node = list->first; node; node = node->next, count++) {
        struct yaml_path path = { r->path, S(""), count };
        struct reading at = { r->arena, r->faults, r->config, &path };
        words[count] = word(&at, node, count == 0);
    }
    *(const char *const **)to = words;
}

static json_t *show_command(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    const char *const *words = *(const char *const *const *)from;
    json_t *list = words ? json_array() : json_null();
    for (size_t i = 0; words && words[i]; i++)
        json_array_append_new(list, json_string(words[i]));
    return list;
}

const struct config_kind kind_command = { "list of words", read_command, show_command, NULL };

// ----- environment

static bool is_variable(struct str name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (name.n == 0 || !memchr(letters, name.s[0], sizeof(letters) - 1))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!memchr(letters, name.s[i], sizeof(letters) - 1)
            && (name.s[i] < '0' || name.s[i] > '9'))
            return false;
    return true;
}

// Ours, which every command gets.
static bool is_ours(struct str name)
{
    return str_starts(name, S("PAWL_")) || str_eq(name, S("TRACEPARENT"));
}

static bool tells_secret(struct arena *arena, struct str name)
{
    static const struct str ends[] = {
        { "PASSWORD", 8 }, { "PASSWD", 6 }, { "PASSPHRASE", 10 }, { "SECRET", 6 },
        { "TOKEN", 5 }, { "API_KEY", 7 }, { "ACCESS_KEY", 10 }, { "PRIVATE_KEY", 11 },
    };
    char *upper = arena_alloc(arena, name.n + 1);
    for (size_t i = 0; upper && i < name.n; i++)
        upper[i] = (char)(name.s[i] >= 'a' && name.s[i] <= 'z' ? name.s[i] - 32 : name.s[i]);
    for (size_t i = 0; i < countof(ends); i++)
        if (str_ends(str_of(upper), ends[i]))
            return true;
    return false;
}

static bool read_whole(int fd, char *bytes, size_t room, size_t *n)
{
    ssize_t got = 1;
    for (*n = 0; *n < room && got > 0; *n += (size_t)got)
        if ((got = read(fd, bytes + *n, room - *n)) < 0)
            return false;
    return true;
}

// The contents of a file without the end of its last line.
bool file_contents(const struct reading *r, const struct yaml_node *node, struct str *value)
{
    const char *path = path_from(r, node->text);
    char *bytes = arena_alloc(r->arena, VARIABLE_BYTES_MAX + 1);
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool done = bytes && fd >= 0 && read_whole(fd, bytes, VARIABLE_BYTES_MAX + 1, &n);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (!done)
        return wrong(r, node, "%s cannot be read: %s", path, strerrordesc_np(why));
    if (n > VARIABLE_BYTES_MAX || memchr(bytes, '\0', n))
        return wrong(r, node, "%s must have at most %d bytes and no NUL among them", path,
                     VARIABLE_BYTES_MAX);
    if (n > 0 && bytes[n - 1] == '\n')
        n--;
    *value = (struct str){ bytes, n };
    return true;
}

static bool take_ours(const struct reading *r, const struct yaml_node *node, struct str *value)
{
    const char *found = our_variable(str_cstr(r->arena, node->text));
    if (!found)
        return wrong(r, node, "there is no variable %.*s in the environment", STR(node->text));
    *value = str_dup(r->arena, str_of(found));
    return true;
}

// {file: F} or {env: NAME}.
static bool take_from(const struct reading *r, const struct yaml_node *map, struct str *value)
{
    const struct yaml_node *from = map->first;
    if (map->count != 1
        || (!str_eq(from->key, S("file")) && !str_eq(from->key, S("env"))))
        return wrong(r, map, "must be a text, {file: FILE} or {env: NAME}");
    const struct reading *at = SUB(r, from);
    if (!node_is_text(at, from, "a text"))
        return false;
    return str_eq(from->key, S("file")) ? file_contents(at, from, value)
                                        : take_ours(at, from, value);
}

static bool take_value(const struct reading *r, const struct yaml_node *node, struct str *value)
{
    if (node->kind == YAML_MAP)
        return take_from(r, node, value);
    if (node->kind == YAML_LIST || yaml_null(node))
        return wrong(r, node, "must be a text, {file: FILE} or {env: NAME}");
    if (node->text.n && tells_secret(r->arena, node->key))
        return wrong(r, node, "is a secret by its name: take it from {file: FILE} or {env: NAME}");
    *value = node->text;
    return true;
}

static void read_environment(const struct reading *r, const struct config_row *row,
                             const struct yaml_node *map, void *to)
{
    (void)row;
    const char **all = arena_new(r->arena, const char *, map->count + 1);
    const char **taken = arena_new(r->arena, const char *, map->count + 1);
    size_t count = 0, taken_count = 0;
    if (!node_is_map(r, map, "a map of variables") || !all || !taken)
        return;
    for (const struct yaml_node *node = map->first; node; node = node->next) {
        const struct reading *at = SUB(r, node);
        struct str value = S("");
        if (is_ours(node->key))
            wrong_key(at, node, "is set by Pawl itself");
        else if (!is_variable(node->key))
            wrong_key(at, node, "is no name of a variable");
        else if (take_value(at, node, &value))
            all[count++] = str_format(r->arena, "%.*s=%.*s", STR(node->key), STR(value)).s;
        if (node->kind == YAML_MAP && value.n)
            taken[taken_count++] = str_cstr(r->arena, value);
    }
    *(struct config_variables *)to = (struct config_variables){ all, taken };
}

// Names only: a value may be a secret.
static json_t *show_environment(struct arena *arena, const struct config_row *row,
                                const void *from)
{
    (void)arena, (void)row;
    const char *const *variables = ((const struct config_variables *)from)->all;
    json_t *list = json_array();
    for (size_t i = 0; variables && variables[i]; i++) {
        size_t n = strcspn(variables[i], "=");
        json_array_append_new(list, json_stringn(variables[i], n));
    }
    return list;
}

const struct config_kind kind_environment = {
    "map of variables", read_environment, show_environment, NULL,
};
