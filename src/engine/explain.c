// Where the job is says which part explains it; here is what every job has, and the answer as JSON.
#include "engine/explain.h"

#include "base/time_text.h"
#include "engine/explain_part.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "model/json_field.h"

void explain_times(struct explaining *x, pawl_time since, pawl_time until)
{
    x->since = since;
    x->until = until;
    x->facts.at[FACT_SINCE] = time_text(x->tx->arena, since);
    x->facts.at[FACT_UNTIL] = time_text(x->tx->arena, until);
}

void explain_related(struct explaining *x, struct id id)
{
    x->facts.at[FACT_RELATED] = id_text(x->tx->arena, id);
    if (!x->out->why.sentence.n)
        x->out->related = id;
}

void explain_error(struct explaining *x)
{
    const struct job *job = x->job;
    const char *class = error_class_name(job->error_class);
    struct str message = job->last_error.n ? job->last_error : S("it did not say why");
    x->facts.at[FACT_ERROR] = *class ? str_format(x->tx->arena, "%s: %.*s", class, STR(message))
                                     : message;
}

static struct reason reason(const struct explaining *x, enum cause cause)
{
    return (struct reason){ cause, cause_sentence(x->tx->arena, cause, &x->facts),
                            cause_advice(x->tx->arena, cause, &x->facts) };
}

void explain_say(struct explaining *x, enum cause cause)
{
    x->out->why = reason(x, cause);
    x->out->since = x->since;
    x->out->until = x->until;
    x->out->worker = x->facts.at[FACT_WORKER];
}

void explain_also(struct explaining *x, enum cause cause)
{
    if (x->out->also_count < ALSO_MAX)  // defensive: so many are not true of one job at once
        x->out->also[x->out->also_count++] = reason(x, cause);
}

struct str explain_count(const struct explaining *x, int64_t count)
{
    return str_format(x->tx->arena, "%lld job%s%s", (long long)count, count == 1 ? "" : "s",
                      x->org ? " of your own" : "");
}

void explain_ahead(struct explaining *x, int64_t seen, int64_t looked_at)
{
    bool beyond = seen > AHEAD_COUNTED, more = looked_at > AHEAD_COUNTED;
    x->out->ahead = beyond ? AHEAD_COUNTED : seen;
    x->out->ahead_more = more;
    struct str count = explain_count(x, x->out->ahead);
    const char *how = beyond ? "more than " : "at least ";
    x->facts.at[FACT_COUNT] = str_format(x->tx->arena, "%s%.*s", more ? how : "", STR(count));
}

// ----- pauses

// A tenant learns that the whole queue is paused, not who of those that run Pawl did it.
static bool paused_by(struct explaining *x, struct pawl_error *err)
{
    struct tx *tx = x->tx;
    SCOPED(rows) struct rows rows = {0};
    if (x->org != 0)
        return true;
    if (!sql_ask(tx, &rows, Q_QUEUE_PAUSED_BY, err,
                 TEXT(str_format(tx->arena, "queue:%.*s", STR(x->job->queue))),
                 INT(EVENT_QUEUE_PAUSED)))
        return false;
    if (rows_next(&rows)) {
        struct str actor = row_text(&rows);
        x->facts.at[FACT_BY] = str_format(tx->arena, " by %.*s", STR(actor));
    }
    return rows_ok(&rows, err);
}

bool explain_closed(struct explaining *x, enum cause *cause, bool *closed, struct pawl_error *err)
{
    pawl_time whole = 0;
    struct share_pause share;
    x->facts.at[FACT_BY] = S("");
    if (!queue_paused(x->tx, x->job->keys.queue, &whole, err)
        || !share_paused(x->tx, x->job->keys.queue, x->job->keys.org, &share, err))
        return false;
    *closed = whole || share.since;
    if (!*closed)
        return true;
    *cause = whole ? CAUSE_QUEUE_PAUSED : CAUSE_SHARE_PAUSED;
    explain_times(x, whole ? whole : share.since, 0);
    if (whole)
        return paused_by(x, err);
    x->facts.at[FACT_BY] = str_format(x->tx->arena, " by %.*s", STR(share.by));
    return true;
}

// ----- where it comes from

static bool made_by_schedule(struct explaining *x, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_RUN_OF_JOB, err, INT(x->job->id.high)))
        return false;
    if (rows_next(&rows)) {
        x->facts.at[FACT_SCHEDULE] = row_text(&rows);
        x->facts.at[FACT_SLOT] = time_text(x->tx->arena, row_int(&rows));
        explain_also(x, CAUSE_MADE_BY_SCHEDULE);
    }
    return rows_ok(&rows, err);
}

static bool made_from(struct explaining *x, struct pawl_error *err)
{
    const struct contract *contract = &x->job->contract;
    bool sees = false;
    if (contract->parent.high == 0)
        return true;
    if (!caller_sees_job(x->tx, contract->parent.high, &sees, err))
        return false;
    if (sees) {
        explain_related(x, contract->parent);
        x->facts.at[FACT_WORD] = contract->origin;
        explain_also(x, CAUSE_MADE_FROM);
    }
    return true;
}

// ----- the whole

static bool any_alive(struct tx *tx, bool *alive, struct pawl_error *err)
{
    int64_t found = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_INSTANCE_ANY_ALIVE, err, INT(tx->now))
        || !rows_number(&rows, &found, err))
        return false;
    *alive = found != 0;
    return true;
}

static bool begin(struct explaining *x, struct pawl_error *err)
{
    struct arena *arena = x->tx->arena;
    const struct job *job = x->job;
    x->facts.at[FACT_ID] = id_text(arena, job->id);
    x->facts.at[FACT_TYPE] = job->contract.job_type;
    x->facts.at[FACT_QUEUE] = job->queue;
    x->facts.at[FACT_KEY] = job->contract.serial_key;
    x->facts.at[FACT_ATTEMPTS] = str_format(arena, "%lld of %lld", (long long)job->attempts_used,
                                            (long long)job->contract.policy.max_attempts);
    // defensive: the job was found in the caller's org, whose number is remembered since
    return caller_org(x->tx, &x->org, err) && any_alive(x->tx, &x->alive, err);
}

typedef bool explain_part(struct explaining *x, struct pawl_error *err);

static explain_part *const parts[] = {
    [PHASE_HELD] = explain_waiting, [PHASE_DELAYED] = explain_waiting,
    [PHASE_READY] = explain_waiting, [PHASE_BLOCKED] = explain_waiting,
    [PHASE_LEASED] = explain_working, [PHASE_RUNNING] = explain_working,
    [PHASE_FINISHING] = explain_working, [PHASE_BACKOFF] = explain_waiting,
    [PHASE_ENDED] = explain_ended,
};
_Static_assert(countof(parts) == JOB_PHASES, "each phase is explained");

static bool explain_sound(struct explaining *x, struct pawl_error *err)
{
    return parts[x->job->phase](x, err) && made_by_schedule(x, err) && made_from(x, err);
}

static void damaged(struct explaining *x, struct str problem)
{
    x->out->also_count = 0;
    explain_times(x, 0, 0);
    x->facts.at[FACT_ERROR] = problem;
    explain_say(x, CAUSE_DAMAGED);
}

// Damage that only shows on the way, in the record of an execution, is noticed there.
bool job_explain(struct tx *tx, struct id id, struct explanation *out, struct pawl_error *err)
{
    struct explaining x = { .tx = tx, .job = &out->job, .out = out };
    struct pawl_error why = {0};
    const char *problem = NULL;
    *out = (struct explanation){ .ahead = -1 };
    if (!job_look(tx, id, &out->job, &problem, err) || !begin(&x, err))
        return false;
    if (problem)
        damaged(&x, str_of(problem));
    else if (!explain_sound(&x, &why) && why.code != PAWL_DAMAGED)
        return fail(err, why.code, "%s", why.message);
    else if (why.code == PAWL_DAMAGED)
        damaged(&x, str_dup(tx->arena, str_of(why.message)));
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to explain a job");
}

// ----- as JSON

static json_t *reason_json(const struct reason *r)
{
    const struct json_field fields[] = {
        { "cause", json_string(cause_name(r->cause)) },
        { "sentence", json_text_or_null(r->sentence) },
        { "advice", json_text_or_null(r->advice) },
    };
    return json_object_of(fields, countof(fields));
}

static json_t *also_json(const struct explanation *e)
{
    json_t *array = json_array();
    for (size_t i = 0; i < e->also_count; i++)
        if (json_array_append_new(array, reason_json(&e->also[i])) != 0)
            json_end(&array);
    return array;
}

json_t *explanation_json(struct arena *arena, const struct explanation *e)
{
    bool sound = e->why.cause != CAUSE_DAMAGED;
    struct str related = e->related.high ? id_text(arena, e->related) : S("");
    struct str state = sound ? str_of(job_state_name(e->job.state)) : S("");
    struct str phase = sound ? str_of(job_phase_name(e->job.phase)) : S("");
    const struct json_field fields[] = {
        { "job_id", json_text_or_null(id_text(arena, e->job.id)) },
        { "job_type", json_text_or_null(e->job.contract.job_type) },
        { "queue", json_text_or_null(e->job.queue) },
        { "state", json_text_or_null(state) },
        { "phase", json_text_or_null(phase) },
        { "cause", json_string(cause_name(e->why.cause)) },
        { "sentence", json_text_or_null(e->why.sentence) },
        { "advice", json_text_or_null(e->why.advice) },
        { "since", json_time_or_null(arena, e->since) },
        { "until", json_time_or_null(arena, e->until) },
        { "worker_id", json_text_or_null(e->worker) },
        { "related_job_id", json_text_or_null(related) },
        { "ahead", e->ahead < 0 ? json_null() : json_integer(e->ahead) },
        { "ahead_more", json_boolean(e->ahead_more) },
        { "also", also_json(e) },
    };
    return json_object_of(fields, countof(fields));
}
