// A list in which the first of a name wins.
#include "server/command_environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "server/supervisor.h"

// Entries are `_NAME=VALUE`: the mark is for the supervisor.
static void add(struct list *list, const char *name, size_t name_bytes, const char *value)
{
    char **entries = list->items;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(entries[i] + 1, name, name_bytes) == 0 && entries[i][1 + name_bytes] == '=')
            return;
    size_t bytes = 1 + name_bytes + 1 + strlen(value) + 1;
    char *entry = arena_alloc(list->arena, bytes);
    char **place = entry ? list_add(list) : NULL;
    if (!place)
        return;  // the arena remembers it
    entry[0] = SUPERVISOR_MARK;
    memcpy(entry + 1, name, name_bytes);
    entry[1 + name_bytes] = '=';
    memcpy(entry + 1 + name_bytes + 1, value, strlen(value));
    *place = entry;
}

static void add_all(struct list *list, const struct variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (variables[i].value[0])
            add(list, variables[i].name, strlen(variables[i].name), variables[i].value);
}

static void add_run(struct list *list, const struct pawl_run *run)
{
    struct str attempt = str_format(list->arena, "%d", pawl_attempt(run));
    const struct variable variables[] = {
        { "PAWL_JOB_ID", pawl_job_id(run) },
        { "PAWL_EXEC_ID", pawl_exec_id(run) },
        { "PAWL_ATTEMPT", attempt.s },
        { "PAWL_JOB_TYPE", pawl_job_type(run) },
        { "PAWL_ORG_ID", pawl_org_id(run) },
        { "PAWL_EFFECT_KEY", pawl_effect_key(run) },
        { "TRACEPARENT", pawl_traceparent(run) },
    };
    add_all(list, variables, countof(variables));
}

static void add_type(struct list *list, const struct command_type *type)
{
    for (char *const *entry = type->environment; entry && *entry; entry++) {
        const char *value = strchr(*entry, '=');
        if (value)
            add(list, *entry, (size_t)(value - *entry), value + 1);
    }
}

static void add_base(struct list *list)
{
    static const struct {
        const char *name, *otherwise;
        bool from_ours;
    } variables[] = {
        { "PATH", "/usr/local/bin:/usr/bin:/bin", true },
        { "HOME", "/", true },
        { "TMPDIR", "/tmp", true },
        { "LANG", "C.UTF-8", false },
    };
    for (size_t i = 0; i < countof(variables); i++) {
        const char *ours = variables[i].from_ours ? getenv(variables[i].name) : NULL;
        add(list, variables[i].name, strlen(variables[i].name),
            ours && ours[0] ? ours : variables[i].otherwise);
    }
}

static void add_files(struct list *list, const struct command_files *files)
{
    if (!files->directory)
        return;
    add(list, "PAWL_ARTIFACTS", strlen("PAWL_ARTIFACTS"), files->out);
    add(list, "PAWL_INPUTS", strlen("PAWL_INPUTS"), files->in);
}

// With the NULL at its end.
static char **finished(struct list *list)
{
    (void)!list_add(list);  // without memory the arena remembers
    return list->arena->failed ? NULL : list->items;
}

char **environment_of(struct arena *arena, const struct variable *variables, size_t count)
{
    struct list list = list_of(arena, sizeof(char *));
    add_all(&list, variables, count);
    add_base(&list);
    return finished(&list);
}

char **command_environment(struct arena *arena, const struct pawl_run *run,
                           const struct command_type *type, const struct command_files *files)
{
    struct list list = list_of(arena, sizeof(char *));
    add_run(&list, run);
    add_files(&list, files);
    add_type(&list, type);
    add_base(&list);
    return finished(&list);
}
