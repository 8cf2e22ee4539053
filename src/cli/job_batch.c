// pawl batch: the lines of a file become one batch; how far a batch is.
#include <stdio.h>

#include "cli/backend.h"
#include "cli/lines.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/payload.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/value.h"
#include "cli/verb.h"
#include "engine/batch.h"

enum { BODY_BYTES_MAX = 8 << 20 };
#define LOOK_AGAIN_US MILLISECONDS(500)

// ----- create

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ' && text.s[i] != '\t' && text.s[i] != '\r')
            return false;
    return true;
}

// A job without a key has the batch's, with its number: asked again, it is the same job.
static void give_key(struct cli *cli, json_t *job, struct str key, size_t number)
{
    struct str own = str_format(&cli->arena, "%.*s:%zu", STR(key), number);
    if (json_is_object(job) && !json_object_get(job, "idempotency_key"))
        json_object_set_new(job, "idempotency_key", json_stringn(own.s, own.n));
}

static bool take_line(struct cli *cli, const struct lines *lines, const struct line *line,
                      struct str key, json_t *jobs, struct pawl_error *err)
{
    json_t *job = NULL;
    struct pawl_error why = {0};
    if (line->too_long || lines->consumed > BODY_BYTES_MAX
        || json_array_size(jobs) == BATCH_JOBS_MAX)
        return fail(err, PAWL_TOO_LARGE, "%s:%lld: a batch is made of at most %d jobs and 8 MiB; "
                                         "others can join it: pawl enqueue --batch-id ID",
                    lines->path, (long long)lines->number, BATCH_JOBS_MAX);
    if (!json_parse(line->text, LINE_BYTES_MAX, &job, &why))
        return fail(err, why.code, "%s:%lld: %s", lines->path, (long long)lines->number,
                    why.message);
    give_key(cli, job, key, json_array_size(jobs) + 1);
    return json_array_append_new(jobs, job) == 0
        || fail(err, PAWL_NO_MEMORY, "no memory to read %s", lines->path);
}

static bool read_jobs(struct cli *cli, struct str key, json_t *jobs, struct pawl_error *err)
{
    SCOPED(lines) struct lines lines = { .fd = -1 };
    if (!lines_open(&lines, str_cstr(&cli->arena, cli->words[1]), err))
        return false;
    for (;;) {
        struct line line;
        bool got = false;
        if (!lines_next(&lines, &line, &got, err))
            return false;
        if (!got)
            return json_array_size(jobs) > 0
                || fail(err, PAWL_INVALID, "%s has no job", lines.path);
        if ((line.too_long || !is_blank(line.text))
            && !take_line(cli, &lines, &line, key, jobs, err))
            return false;
    }
}

static void put_text(json_t *object, const char *name, struct str text)
{
    if (text.n)
        json_object_set_new(object, name, json_stringn(text.s, text.n));
}

static bool put_callback(struct cli *cli, json_t *object, struct pawl_error *err)
{
    json_t *payload = NULL;
    struct str type = cli->value[OPTION_CALLBACK];
    if (!cli->given[OPTION_CALLBACK])
        return !cli->given[OPTION_NEW_PAYLOAD]
            || usage(cli, err, "--payload is that of --callback TYPE");
    struct str text = cli->given[OPTION_NEW_PAYLOAD] ? cli->value[OPTION_NEW_PAYLOAD] : S("{}");
    if (!payload_read(cli, text, &payload, err))
        return false;
    json_object_set_new(object, "callback",
                        json_pack("{s:s%,s:o}", "job_type", type.s, type.n, "payload", payload));
    return true;
}

static bool request(struct cli *cli, json_t *object, struct pawl_error *err)
{
    struct str key = cli->given[OPTION_KEY] ? cli->value[OPTION_KEY]
                                            : unique_key(cli, &cli->arena);
    json_t *jobs = json_array();
    json_object_set_new(object, "jobs", jobs);
    put_text(object, "idempotency_key", key);
    put_text(object, "name", cli->value[OPTION_NAME]);
    put_text(object, "project_id", cli->value[OPTION_PROJECT]);
    return read_jobs(cli, key, jobs, err) && put_callback(cli, object, err);
}

// ----- show

static void print_batch(struct cli *cli, const json_t *batch)
{
    struct arena *a = &cli->arena;
    struct str name = safe(a, object_text(batch, "name"));
    struct str type = safe(a, object_text(batch, "callback_type"));
    struct str called = safe(a, object_text(batch, "callback_job_id"));
    printf("%.*s%s%.*s  %s\n", STR(safe(a, object_text(batch, "batch_id"))), name.n ? "  " : "",
           STR(name), object_flag(batch, "done") ? "ended" : "open");
    printf("jobs       %lld\npending    %lld\nsucceeded  %lld\nfailed     %lld\n"
           "timed out  %lld\n",
           (long long)object_number(batch, "jobs"), (long long)object_number(batch, "pending"),
           (long long)object_number(batch, "succeeded"), (long long)object_number(batch, "failed"),
           (long long)object_number(batch, "timed_out"));
    if (type.n)
        printf("callback   %.*s  %.*s\n", STR(type),
               STR(called.n ? called : S("when all have ended")));
}

static bool wait_for_end(struct cli *cli, json_t **batch, struct pawl_error *err)
{
    struct progress_bar bar = { .world = cli->world, .what = "batch" };
    struct id id;
    if (!id_parse(object_text(*batch, "batch_id"), &id))
        return fail(err, PAWL_STORE, "the answer has no id of a batch");
    while (!object_flag(*batch, "done")) {
        int64_t jobs = object_number(*batch, "jobs");
        progress_show(&bar, jobs - object_number(*batch, "pending"), jobs);
        world_sleep(cli->world, LOOK_AGAIN_US);
        json_end(batch);
        if (!cli->backend->batch(cli, id, batch, err)) {
            progress_hide(&bar);
            return false;
        }
    }
    progress_hide(&bar);
    cli->status = object_number(*batch, "succeeded") == object_number(*batch, "jobs") ? 0 : 1;
    return true;
}

// Takes the batch over.
static bool show(struct cli *cli, json_t *found, struct pawl_error *err)
{
    SCOPED(json) json_t *batch = found;
    if (cli->given[OPTION_WAIT] && !wait_for_end(cli, &batch, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(batch), err);
    print_batch(cli, batch);
    return true;
}

static bool create_verb(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *object = json_object();
    json_t *batch = NULL;
    return request(cli, object, err) && cli->backend->batch_create(cli, object, &batch, err)
        && show(cli, batch, err);
}

static bool show_verb(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    json_t *batch = NULL;
    if (!id_parse(cli->words[1], &id))
        return usage(cli, err, "`%.*s` is not the id of a batch", STR(cli->words[1]));
    return cli->backend->batch(cli, id, &batch, err) && show(cli, batch, err);
}

bool command_batch(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "create", 2, create_verb },
        { "show", 2, show_verb },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
