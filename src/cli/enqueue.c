// pawl enqueue: the options become the job object that the HTTP API takes, and are judged like it.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time_text.h"
#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/payload.h"
#include "cli/value.h"
#include "cli/watch.h"

static json_t *as_text(const struct cli *cli, enum option option)
{
    return json_stringn(cli->value[option].s, cli->value[option].n);
}

static json_t *as_number(const struct cli *cli, enum option option)
{
    return json_integer(value_number(cli, option));
}

// A time that was said in full is kept as it was said: the same request has the same hash.
static json_t *as_time(const struct cli *cli, enum option option)
{
    pawl_time time;
    if (time_parse(cli->value[option], &time))
        return as_text(cli, option);
    SCOPED(arena) struct arena arena = {0};
    struct str from_now = time_text(&arena, value_time(cli, option, world_wall(cli->world)));
    return json_stringn(from_now.s, from_now.n);
}

static json_t *as_list(const struct cli *cli, enum option option)
{
    json_t *list = json_array();
    for (size_t i = 0; i < cli->typed_count; i++) {
        struct str value = cli->typed[i].value;
        if (cli->typed[i].option == option)
            json_array_append_new(list, json_stringn(value.s, value.n));
    }
    return list;
}

static json_t *as_no(const struct cli *cli, enum option option)
{
    (void)cli, (void)option;
    return json_false();
}

// clang-format off
static const struct {
    enum option option;
    const char *field;
    json_t *(*value)(const struct cli *cli, enum option option);
} fields[] = {
    { OPTION_KEY,            "idempotency_key", as_text },
    { OPTION_QUEUE,          "queue",           as_text },
    { OPTION_SERIAL_KEY,     "serial_key",      as_text },
    { OPTION_LIMIT_KEY,      "limit_key",       as_text },
    { OPTION_AT,             "scheduled_for",   as_time },
    { OPTION_POLICY,         "policy",          as_text },
    { OPTION_PRIORITY,       "priority",        as_number },
    { OPTION_HOLD,           "submit",          as_no },
    { OPTION_MAX_WAIT,       "max_wait",        as_text },
    { OPTION_PROJECT,        "project_id",      as_text },
    { OPTION_CORRELATION_ID, "correlation_id",  as_text },
    { OPTION_AFTER,          "after",           as_list },
    { OPTION_BATCH_ID,       "batch_id",        as_text },
};
// clang-format on

static bool set_field(const struct cli *cli, json_t *object, size_t i)
{
    json_t *value = fields[i].value(cli, fields[i].option);
    return json_object_set_new(object, fields[i].field, value) == 0;
}

// Takes over the payload.
static bool job_object(const struct cli *cli, json_t *payload, json_t **object,
                       struct pawl_error *err)
{
    *object = json_pack("{s:s%, s:o}", "job_type", cli->words[0].s, cli->words[0].n, "payload",
                        payload);
    for (size_t i = 0; *object && i < countof(fields); i++)
        if (cli->given[fields[i].option] && !set_field(cli, *object, i))
            return fail(err, PAWL_NO_MEMORY, "no memory to make the request");
    return *object || fail(err, PAWL_NO_MEMORY, "no memory to make the request");
}

// Takes over the object.
static bool send(struct cli *cli, json_t *object, struct entry *entry, struct pawl_error *err)
{
    *entry = (struct entry){ .object = object };
    struct batch batch = {
        .arena = &cli->arena,
        .entries = entry,
        .count = 1,
        .recipe = cli->given[OPTION_DEDUPE] ? KEY_DERIVED : KEY_UNIQUE,
        .wants_jobs = true,
    };
    if (!cli->backend->enqueue(cli, &batch, err))
        return false;
    for (size_t i = 0; i < entry->problem_count; i++)
        problem_add(&cli->problems, str_cstr(&cli->arena, entry->problems[i].field), "%.*s",
                    STR(entry->problems[i].message));
    if (entry->error.code != PAWL_OK)
        return fail(err, entry->error.code, "%s", entry->error.message);
    return problems_none(&cli->problems, err);
}

static bool print_answer_json(struct cli *cli, const struct entry *entry, struct pawl_error *err)
{
    return json_object_set_new(entry->job, "deduplicated", json_boolean(entry->known)) == 0
             ? print_json(&cli->arena, json_incref(entry->job), err)
             : fail(err, PAWL_NO_MEMORY, "no memory to print the answer");
}

// Whoever cannot be told the answer must not take the job for lost.
static bool print_answer(struct cli *cli, const struct entry *entry, struct pawl_error *err)
{
    if (!cli->given[OPTION_JSON])
        print_job_line(&cli->arena, entry->job, entry->known ? "already known" : "");
    else if (!print_answer_json(cli, entry, err))
        return false;
    return fflush(stdout) == 0
        || fail(err, PAWL_STORE, "cannot write the output: %s; job %.*s is stored",
                strerror(errno), STR(object_text(entry->job, "job_id")));
}

static bool wait_for_end(struct cli *cli, struct entry *entry, struct pawl_error *err)
{
    struct id id;
    struct str text = object_text(entry->job, "job_id");
    json_t *ended = NULL;
    if (object_ended(entry->job))
        return true;
    if (!id_parse(text, &id))
        return fail(err, PAWL_STORE, "the answer has no id of a job");
    fprintf(stderr, "waiting for %.*s ...\n", STR(text));
    if (is_terminal(2) ? !watch_to_end(cli, id, stderr, &ended, err)
                       : !cli->backend->wait(cli, id, &ended, err))
        return false;
    json_end(&entry->job);
    entry->job = ended;
    return true;
}

// What came of it: the result, or the class and the text of the error.
static void print_end(struct cli *cli, const json_t *job)
{
    struct arena *a = &cli->arena;
    struct str error = object_text(job, "last_error"), class = object_text(job, "error_type");
    if (!json_is_null(json_object_get(job, "result")))
        printf("result: %.*s\n", STR(safe(a, object_value(a, job, "result"))));
    if (error.n)
        printf("error: %.*s%s%.*s\n", STR(safe(a, class)), class.n ? ": " : "",
               STR(safe(a, error)));
}

// The line about the new job comes at once, the one about its end later; JSON is one object.
static bool follow(struct cli *cli, struct entry *entry, struct pawl_error *err)
{
    enum job_state state;
    if ((!cli->given[OPTION_JSON] && !print_answer(cli, entry, err))
        || !wait_for_end(cli, entry, err))
        return false;
    cli->status = object_state(entry->job, &state) && state == JOB_SUCCEEDED ? 0 : 1;
    entry->known = entry->known && cli->given[OPTION_JSON];
    if (!print_answer(cli, entry, err))
        return false;
    if (!cli->given[OPTION_JSON])
        print_end(cli, entry->job);
    return true;
}

// A time from now on is another one each time, so the second request would never be the same.
static bool options_agree(const struct cli *cli, struct pawl_error *err)
{
    bool keyed = cli->given[OPTION_KEY] || cli->given[OPTION_DEDUPE];
    if (cli->given[OPTION_KEY] && cli->given[OPTION_DEDUPE])
        return usage(cli, err, "--key and --dedupe exclude each other");
    if (cli->given[OPTION_HOLD] && cli->given[OPTION_WAIT])
        return usage(cli, err, "--hold and --wait exclude each other: a held job does not end");
    if (keyed && cli->given[OPTION_AT] && value_is_from_now(cli->value[OPTION_AT]))
        return usage(cli, err, "with --key or --dedupe --at must be an absolute time such as "
                               "2026-08-22T10:00:00Z: `%.*s` is another time whenever it is said",
                     STR(cli->value[OPTION_AT]));
    return true;
}

static void entry_end(struct entry *entry)
{
    json_end(&entry->object);
    json_end(&entry->job);
}

bool command_enqueue(struct cli *cli, struct pawl_error *err)
{
    struct str text = cli->word_count > 1 ? cli->words[1] : S("{}");
    json_t *payload = NULL, *object = NULL;
    SCOPED(entry) struct entry entry = {0};
    if (!options_agree(cli, err) || !payload_read(cli, text, &payload, err)
        || !job_object(cli, payload, &object, err) || !send(cli, object, &entry, err))
        return false;
    return cli->given[OPTION_WAIT] ? follow(cli, &entry, err) : print_answer(cli, &entry, err);
}
