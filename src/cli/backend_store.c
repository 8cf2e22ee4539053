// The store as a backend: each operation is a transaction on a store that this process opens.
#include "cli/backend.h"

#include "base/hash.h"
#include "base/json_put.h"
#include "cli/object.h"
#include "cli/request.h"
#include "cli/session.h"
#include "engine/erase.h"
#include "engine/event.h"
#include "engine/explain.h"
#include "engine/step.h"
#include "model/json_field.h"
#include "server/batch_json.h"
#include "server/batch_read.h"
#include "server/event_json.h"
#include "server/letter_json.h"

enum { PURGE_ROWS = 500 };
#define POLL_US MILLISECONDS(200)

// A command uses the store in one way; the first operation opens it.
static bool begin(struct cli *cli, enum store_use use, struct arena *arena, struct tx *tx,
                  struct pawl_error *err)
{
    enum tx_mode mode = use == STORE_READ ? TX_READ : TX_WRITE;
    return (cli->db || session_open(cli, use, err)) && session_begin(cli, mode, arena, tx, err);
}

// Whoever has the store speaks for every org, unless he says for which.
static void speak_for_all(struct cli *cli)
{
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");
}

static bool give(json_t **out, json_t *made, struct pawl_error *err)
{
    *out = made;
    return made || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

// ----- jobs

static bool state_of(struct cli *cli, struct id id, enum job_state *state, struct pawl_error *err)
{
    struct job job;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!session_begin(cli, TX_READ, &arena, &tx, err) || !job_load(&tx, id, &job, err))
        return false;
    *state = job.state;
    return true;
}

static bool wait_for_end(struct cli *cli, struct id id, json_t **job, struct pawl_error *err)
{
    enum job_state state = JOB_CREATED;
    struct job ended;
    SCOPED(tx) struct tx tx = {0};
    if (!state_of(cli, id, &state, err))
        return false;
    while (!job_state_final(state)) {
        world_sleep(cli->world, POLL_US);
        if (!state_of(cli, id, &state, err))
            return false;
    }
    return session_begin(cli, TX_READ, &cli->arena, &tx, err) && job_load(&tx, id, &ended, err)
        && give(job, job_json(&cli->arena, &ended), err);
}

// Adds to an array; NULL when there is no memory for one of the values.
static json_t *appended(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        json_end(&array);
    return array;
}

static json_t *executions_json(struct arena *arena, const struct execution *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = appended(array, execution_json(arena, &list[i]));
    return array;
}

static json_t *steps_json(struct arena *arena, const struct step *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = appended(array, step_json(arena, &list[i], true));
    return array;
}

static json_t *events_json(struct arena *arena, const struct job *job,
                           const struct audit_event *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = appended(array, job_event_json(arena, job, &list[i]));
    return array;
}

// All of it from one snapshot.
static json_t *artifacts_json(struct arena *arena, const struct artifact_list *artifacts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < artifacts->count; i++)
        json_array_append_new(list, artifact_json(arena, &artifacts->artifacts[i]));
    return list;
}

static bool record_of(struct cli *cli, struct id id, json_t **record, struct pawl_error *err)
{
    struct arena *arena = &cli->arena;
    struct job job;
    struct execution *executions;
    struct step *steps;
    struct audit_event *events;
    size_t execution_count, step_count, event_count;
    struct artifact_list artifacts;
    SCOPED(tx) struct tx tx = {0};
    if (!begin(cli, STORE_READ, arena, &tx, err) || !job_load(&tx, id, &job, err)
        || !artifacts_of_job(&tx, id.high, &artifacts, err)
        || !executions_of_job(&tx, id.high, &executions, &execution_count, err)
        || !steps_of_job(&tx, id.high, &steps, &step_count, err)
        || !events_of_job(&tx, id.high, &events, &event_count, err))
        return false;
    const struct json_field fields[] = {
        { "job", job_json(arena, &job) },
        { "executions", executions_json(arena, executions, execution_count) },
        { "steps", steps_json(arena, steps, step_count) },
        { "audit", events_json(arena, &job, events, event_count) },
        { "artifacts", artifacts_json(arena, &artifacts) },
    };
    return give(record, json_object_of(fields, countof(fields)), err);
}

static bool explain_job(struct cli *cli, struct id id, json_t **out, struct pawl_error *err)
{
    struct explanation explanation;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_READ, &cli->arena, &tx, err) && job_explain(&tx, id, &explanation, err)
        && give(out, explanation_json(&cli->arena, &explanation), err);
}

// The row to go on from, as a text, since a cursor is one.
static bool read_cursor(const struct page *page, int64_t *before)
{
    *before = 0;
    return page->cursor.n == 0 || str_int(page->cursor, before);
}

static void set_cursor(struct cli *cli, struct page *page, int64_t next)
{
    page->cursor = next ? str_format(&cli->arena, "%lld", (long long)next) : S("");
}

static bool show(const struct page *page, json_t *object, struct pawl_error *err)
{
    SCOPED(json) json_t *shown = object;
    return shown ? page->show(page->self, shown, err)
                 : fail(err, PAWL_NO_MEMORY, "no memory for the list");
}

static bool list_jobs(struct cli *cli, const struct job_filter *filter, struct page *page,
                      struct pawl_error *err)
{
    struct job_filter wanted = *filter;
    struct job_list list;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    wanted.limit = page->limit;
    if (!read_cursor(page, &wanted.before) || !begin(cli, STORE_READ, &arena, &tx, err)
        || !job_find(&tx, &wanted, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, job_json(&arena, &list.jobs[i]), err))
            return false;
    page->damaged += list.damaged;
    set_cursor(cli, page, list.next);
    return true;
}

static bool list_events(struct cli *cli, struct event_filter *filter, struct page *page,
                        struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct event_list list;
    filter->limit = page->limit;
    if (!read_cursor(page, &filter->before) || !begin(cli, STORE_READ, &arena, &tx, err)
        || !events_of_org(&tx, filter, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, event_json(&arena, &list.events[i]), err))
            return false;
    set_cursor(cli, page, list.next);
    return true;
}

typedef bool job_operation(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

static bool act_on_job(struct cli *cli, struct id id, enum job_act act, json_t **job,
                       struct pawl_error *err)
{
    static job_operation *const acts[] = {
        [ACT_SUBMIT] = job_submit,
        [ACT_CANCEL] = job_cancel,
        [ACT_RETRY] = job_retry,
        [ACT_ERASE] = job_erase,
    };
    _Static_assert(countof(acts) == JOB_ACTS, "one operation per act");
    struct job changed;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err) && acts[act](&tx, id, &changed, err)
        && tx_commit(&tx, err) && give(job, job_json(&cli->arena, &changed), err);
}

static bool change_job(struct cli *cli, struct id id, const struct job_change *change, json_t **job,
                       struct pawl_error *err)
{
    struct job changed;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err)
        && job_change(&tx, id, change, &changed, err) && tx_commit(&tx, err)
        && give(job, job_json(&cli->arena, &changed), err);
}

static bool change_many_jobs(struct cli *cli, struct job_bulk *bulk, struct str *cursor,
                             struct pawl_error *err)
{
    struct page page = { .cursor = *cursor };
    SCOPED(tx) struct tx tx = {0};
    if (!read_cursor(&page, &bulk->filter.before)
        || !begin(cli, STORE_CHANGE, &cli->arena, &tx, err) || !jobs_change(&tx, bulk, err)
        || !tx_commit(&tx, err))
        return false;
    set_cursor(cli, &page, bulk->next);
    *cursor = page.cursor;
    return true;
}

// ----- batches

static bool give_batch(struct cli *cli, json_t **out, const struct job_batch *batch,
                       struct pawl_error *err)
{
    struct str text = batch_text(&cli->arena, batch);
    return give(out, text.n ? json_of(text) : NULL, err);
}

static bool create_batch(struct cli *cli, const json_t *object, json_t **out,
                         struct pawl_error *err)
{
    struct contract_rules rules = {
        .caller = &cli->caller,
        .now = world_wall(cli->world),
        .policy = policy_builtin_or_default,
    };
    struct batch_given given = {
        .name = object_text(object, "name"),
        .project_id = object_text(object, "project_id"),
        .idempotency_key = object_text(object, "idempotency_key"),
        .jobs = json_object_get(object, "jobs"),
        .callback = json_object_get(object, "callback"),
        .whole = object,
    };
    struct batch_request request;
    struct job_batch batch;
    bool known = false;
    SCOPED(tx) struct tx tx = {0};
    if (!batch_read(&given, &rules, &request, &cli->problems))
        return fail(err, PAWL_NO_MEMORY, "no memory for a batch");
    return problems_none(&cli->problems, err) && begin(cli, STORE_CREATE, &cli->arena, &tx, err)
        && batch_create(&tx, &request, &batch, &known, err) && tx_commit(&tx, err)
        && give_batch(cli, out, &batch, err);
}

static bool load_batch(struct cli *cli, struct id id, json_t **out, struct pawl_error *err)
{
    struct job_batch batch;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_READ, &cli->arena, &tx, err) && batch_load(&tx, id, &batch, err)
        && give_batch(cli, out, &batch, err);
}

// ----- keys

static bool create_key(struct cli *cli, struct key_request *request, json_t **out,
                       struct pawl_error *err)
{
    struct key key;
    struct config config;
    char text[KEY_TEXT_BYTES_MAX + 1];
    SCOPED(tx) struct tx tx = {0};
    if (!session_config(cli, &config, err))
        return false;
    request->world = cli->world;
    request->env = config.auth.environment;
    request->org_id = cli->caller.org_id;
    bool made = begin(cli, STORE_CREATE, &cli->arena, &tx, err)
             && key_create(&tx, request, &key, text, err) && tx_commit(&tx, err)
             && give(out, key_json(&cli->arena, &key), err);
    if (made && json_object_set_new(*out, "key", json_string(text)) != 0)
        made = fail(err, PAWL_NO_MEMORY, "no memory to show the key");
    wipe(text, sizeof text);
    return made;
}

static bool list_keys(struct cli *cli, struct page *page, struct pawl_error *err)
{
    struct key_list list;
    int64_t before;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!read_cursor(page, &before) || !begin(cli, STORE_READ, &arena, &tx, err)
        || !key_list(&tx, before, page->limit, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, key_json(&arena, &list.keys[i]), err))
            return false;
    set_cursor(cli, page, list.next);
    return true;
}

// The id is unique in the store: whoever has the store need not say the org.
static bool revoke_key(struct cli *cli, struct str key_id, json_t **out, struct pawl_error *err)
{
    struct key key;
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err) && key_revoke(&tx, key_id, &key, err)
        && tx_commit(&tx, err) && give(out, key_json(&cli->arena, &key), err);
}

// ----- queues

static bool list_queues(struct cli *cli, json_t **out, struct pawl_error *err)
{
    struct queue_view *queues = NULL;
    size_t count = 0;
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    if (!begin(cli, STORE_READ, &cli->arena, &tx, err) || !queues_list(&tx, &queues, &count, err))
        return false;
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = appended(array, queue_json(&cli->arena, &queues[i]));
    return give(out, array, err);
}

static bool pause_queue(struct cli *cli, struct str queue, bool paused, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err)
        && (paused ? queue_pause(&tx, queue, err) : queue_resume(&tx, queue, err))
        && tx_commit(&tx, err);
}

static bool purge_queue(struct cli *cli, struct str queue, struct purging *purging,
                        struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    purging->purge.queue = queue;
    if (!begin(cli, STORE_CHANGE, &arena, &tx, err))
        return false;
    if (purging->dry_run)
        return purging->done = queue_waiting(&tx, queue, &purging->jobs, err);
    if (!queue_purge(&tx, &purging->purge, PURGE_ROWS, err) || !tx_commit(&tx, err))
        return false;
    purging->jobs = (int64_t)purging->purge.ended;
    purging->done = purging->purge.done;
    return true;
}

// ----- dead letters

static bool give_text(json_t **out, struct str text, struct pawl_error *err)
{
    return give(out, text.n ? json_of(text) : NULL, err);
}

static json_t *letter_json(struct arena *arena, const struct letter *letter)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    job_put(&out, &letter->job);
    letter_put(&out, letter);
    json_put_close(&out, '}');
    return out.full ? NULL : json_of(buf_str(&out));
}

static bool list_letters(struct cli *cli, const struct letter_filter *filter, struct page *page,
                         struct pawl_error *err)
{
    struct letter_filter wanted = *filter;
    struct letter_list list;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    wanted.limit = page->limit;
    if (!read_cursor(page, &wanted.before) || !begin(cli, STORE_READ, &arena, &tx, err)
        || !letters_find(&tx, &wanted, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, letter_json(&arena, &list.letters[i]), err))
            return false;
    page->damaged += list.damaged;
    set_cursor(cli, page, list.next);
    return true;
}

static bool group_letters(struct cli *cli, const struct letter_filter *filter, json_t **out,
                          struct pawl_error *err)
{
    struct letter_groups groups;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_READ, &cli->arena, &tx, err)
        && letters_group(&tx, filter, &groups, err)
        && give_text(out, letter_groups_text(&cli->arena, &groups), err);
}

// The runbook is in a server's configuration: a store has none.
static bool record_of_letter(struct cli *cli, struct id id, json_t **out, struct pawl_error *err)
{
    struct letter_record record;
    SCOPED(tx) struct tx tx = {0};
    if (!begin(cli, STORE_READ, &cli->arena, &tx, err) || !letter_load(&tx, id, &record, err))
        return false;
    struct buf text = buf_new(&cli->arena, SIZE_MAX);
    json_put_open(&text, NULL, '{');
    job_put(&text, &record.letter.job);
    letter_record_put(&text, &(struct letter_shown){ .record = &record, .payloads = true });
    json_put_close(&text, '}');
    return give_text(out, text.full ? S("") : buf_str(&text), err);
}

static bool close_letter(struct cli *cli, struct id id, const struct letter_act *act, json_t **out,
                         struct pawl_error *err)
{
    struct contract_rules rules = { .caller = &cli->caller, .policy = policy_builtin_or_default };
    struct letter_fix fix = {
        .payload = act->payload,
        .rules = &rules,
        .problems = &cli->problems,
        .dry_run = act->dry_run,
    };
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    if (!begin(cli, STORE_CHANGE, &cli->arena, &tx, err))
        return false;
    bool closed = act->end == LETTER_FIXED     ? letter_fix(&tx, id, &fix, &job, err)
                : act->end == LETTER_DISCARDED ? letter_discard(&tx, id, act->reason, &job, err)
                                               : letter_replay(&tx, id, &job, err);
    if (!closed)
        return false;
    if (act->dry_run)
        return give_text(out, letter_preview_text(&cli->arena, &fix, true), err);
    return tx_commit(&tx, err) && give(out, job_json(&cli->arena, &job), err);
}

static bool close_letters(struct cli *cli, struct letter_sweep *sweep, json_t **out,
                          struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err) && letters_close(&tx, sweep, err)
        && tx_commit(&tx, err) && give_text(out, letter_sweep_text(&cli->arena, sweep), err);
}

// ----- schedules

// The name to go on after is the cursor.
static bool list_schedules(struct cli *cli, struct page *page, struct pawl_error *err)
{
    struct schedule_list list;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!begin(cli, STORE_READ, &arena, &tx, err)
        || !schedules_list(&tx, page->cursor, (size_t)page->limit, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, schedule_json(&arena, &list.schedules[i]), err))
            return false;
    page->cursor = str_dup(&cli->arena, list.next);
    return true;
}

static bool act_on_schedule(struct cli *cli, struct str name, enum schedule_act act, json_t **out,
                            struct pawl_error *err)
{
    struct schedule_view view;
    SCOPED(tx) struct tx tx = {0};
    if (!begin(cli, act == SCHEDULE_SHOW ? STORE_READ : STORE_CHANGE, &cli->arena, &tx, err)
        || (act == SCHEDULE_PAUSE && !schedule_pause(&tx, name, err))
        || (act == SCHEDULE_RESUME && !schedule_resume(&tx, name, err))
        || !schedule_load(&tx, name, &view, err))
        return false;
    return (act == SCHEDULE_SHOW || tx_commit(&tx, err))
        && give(out, schedule_json(&cli->arena, &view), err);
}

static bool show_runs(struct page *page, struct tx *tx, struct str name, int64_t *next,
                      struct pawl_error *err)
{
    struct run_list list;
    if (!schedule_runs(tx, name, *next, (size_t)page->limit, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, run_json(tx->arena, &list.runs[i]), err))
            return false;
    *next = list.next;
    return true;
}

static bool show_skips(struct page *page, struct tx *tx, struct str name, int64_t *next,
                       struct pawl_error *err)
{
    struct skip_list list;
    if (!schedule_skips(tx, name, *next, (size_t)page->limit, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!show(page, skip_json(tx->arena, &list.skips[i]), err))
            return false;
    *next = list.next;
    return true;
}

static bool list_schedule_rows(struct cli *cli, struct str name, enum schedule_rows rows,
                               struct page *page, struct pawl_error *err)
{
    int64_t next;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!read_cursor(page, &next) || !begin(cli, STORE_READ, &arena, &tx, err)
        || !(rows == SCHEDULE_RUNS ? show_runs : show_skips)(page, &tx, name, &next, err))
        return false;
    set_cursor(cli, page, next);
    return true;
}

static bool next_of_schedule(struct cli *cli, struct str name, const struct slot_range *range,
                             json_t **slots, struct pawl_error *err)
{
    struct schedule_view view;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_READ, &cli->arena, &tx, err) && schedule_load(&tx, name, &view, err)
        && slots_json(&cli->arena, &view.schedule, range, slots, err);
}

static bool trigger_schedule(struct cli *cli, struct str name, pawl_time slot, json_t **out,
                             struct pawl_error *err)
{
    struct job job;
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err)
        && slot_trigger(&tx, name, slot, &job, err) && tx_commit(&tx, err)
        && give(out, job_json(&cli->arena, &job), err);
}

static bool backfill_schedule(struct cli *cli, struct str name, struct backfill *wanted,
                              json_t **out, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return begin(cli, STORE_CHANGE, &cli->arena, &tx, err)
        && slot_backfill(&tx, name, wanted, err) && tx_commit(&tx, err)
        && give(out, backfill_json(&cli->arena, wanted), err);
}

const struct backend backend_store = BACKEND(batch_store, store);
