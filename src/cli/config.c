// pawl config: what the server would say of a configuration, and what may be in one.
#include <stdio.h>

#include "cli/command.h"
#include "cli/output.h"
#include "server/config.h"

static json_t *faults_json(const struct yaml_faults *faults)
{
    json_t *list = json_array();
    for (size_t i = 0; i < faults->count; i++) {
        const struct yaml_fault *f = &faults->list[i];
        json_array_append_new(list, json_pack("{s:i, s:i, s:s%, s:s%}", "line", f->line, "column",
                                              f->column, "key", f->key.s, f->key.n, "message",
                                              f->message.s, f->message.n));
    }
    return list;
}

static json_t *check_json(const struct config *config, const struct yaml_faults *faults, bool fine)
{
    return json_pack("{s:s%, s:b, s:I, s:I, s:I, s:I, s:b, s:o}", "file", faults->path.s,
                     faults->path.n, "valid", fine, "job_types", (json_int_t)config->type_count,
                     "policies", (json_int_t)config->policy_count, "queues",
                     (json_int_t)config->queue_count, "schedules",
                     (json_int_t)config->schedule_count, "more_problems", faults->more, "problems",
                     faults_json(faults));
}

static void print_faults(struct cli *cli, const struct yaml_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        struct str line = yaml_fault_text(&cli->arena, faults, i);
        fprintf(stderr, "%.*s\n", STR(safe(&cli->arena, line)));
    }
    fprintf(stderr, "%.*s: %s%zu problem%s\n", STR(safe(&cli->arena, faults->path)),
            faults->more ? "more than " : "", faults->count, faults->count == 1 ? "" : "s");
}

static void print_fine(struct cli *cli, const struct config *config)
{
    printf("%.*s: fine (%zu job types, %zu policies of your own, %zu queues, %zu schedules)\n",
           STR(safe(&cli->arena, config->path)), config->type_count, config->policy_count,
           config->queue_count, config->schedule_count);
}

static bool check(struct cli *cli, struct str path, struct pawl_error *err)
{
    struct config config;
    struct yaml_faults faults;
    bool fine = config_load(&cli->arena, str_cstr(&cli->arena, path), &config, &faults, err);
    if (!fine && faults.count == 0)
        return false;
    cli->status = fine ? 0 : 1;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, check_json(&config, &faults, fine), err);
    if (fine)
        print_fine(cli, &config);
    else
        print_faults(cli, &faults);
    return true;
}

bool command_config(struct cli *cli, struct pawl_error *err)
{
    if (str_eq(cli->words[0], S("check")) && cli->word_count == 2)
        return check(cli, cli->words[1], err);
    if (!str_eq(cli->words[0], S("keys")) || cli->word_count != 1)
        return usage(cli, err, "config needs `check FILE` or `keys`");
    struct str page = config_keys(&cli->arena);
    printf("%.*s", STR(page));
    return true;
}
