// Which limit keeps a ready job waiting: the gates are asked in the order in which a claim does.
#include "base/time_text.h"
#include "engine/explain_part.h"
#include "engine/gate.h"
#include "engine/job.h"

static struct str whose(struct explaining *x, enum limit_scope scope)
{
    const struct contract *c = &x->job->contract;
    struct arena *arena = x->tx->arena;
    const struct str words[] = {
        [LIMIT_QUEUE] = str_format(arena, "queue %.*s", STR(x->job->queue)),
        [LIMIT_TYPE] = str_format(arena, "type %.*s", STR(c->job_type)),
        [LIMIT_ORG] = S("its org"),
        [LIMIT_KEY] = str_format(arena, "limit key %.*s of type %.*s", STR(c->limit_key),
                                 STR(c->job_type)),
    };
    _Static_assert(countof(words) == LIMIT_SCOPES, "one per scope");
    return words[scope];
}

// Since when the oldest runs is told of what the caller could list: a queue and a type have jobs of
// other orgs, too.
static void tell_running(struct explaining *x, const struct gate *gate)
{
    bool own = x->org == 0 || gate->of.scope == LIMIT_ORG || gate->of.scope == LIMIT_KEY;
    bool limited = caller_limited(x->tx);
    x->facts.at[FACT_COUNT] = str_format(x->tx->arena, "%lld of %lld",
                                         (long long)gate->use.running,
                                         (long long)gate->limit.max_running);
    x->facts.at[FACT_BY] = own && !limited
        ? str_format(x->tx->arena, ", the oldest since %.*s",
                                          STR(time_text(x->tx->arena, gate->use.oldest)))
        : S("");
    explain_times(x, 0, 0);
}

static void tell_shut(struct explaining *x, const struct gate *gate, enum cause *cause)
{
    enum limit_way way = LIMIT_BY_RUNNING;
    pawl_time until = 0;
    gate_shut(gate, x->tx->now, &way, &until);
    x->facts.at[FACT_WORD] = whose(x, gate->of.scope);
    *cause = way == LIMIT_BY_RUNNING ? CAUSE_LIMIT_RUNNING : CAUSE_LIMIT_RATE;
    if (way == LIMIT_BY_RUNNING) {
        tell_running(x, gate);
        return;
    }
    x->facts.at[FACT_COUNT] = rate_text(x->tx->arena, &gate->limit.rate);
    explain_times(x, 0, until);
}

static bool look_at(struct explaining *x, struct gates *gates, const struct limited *of,
                    enum cause *cause, bool *shut, struct pawl_error *err)
{
    enum limit_way way;
    pawl_time until;
    struct gate *gate = NULL;
    if (!gate_find(x->tx, gates, of, &gate, err))
        return false;
    *shut = gate_shut(gate, x->tx->now, &way, &until);
    if (*shut)
        tell_shut(x, gate, cause);
    return true;
}

static bool look_at_pauses(struct explaining *x, const struct gates *gates, enum cause *cause)
{
    const struct type_pause *pause = gates_pause(gates, x->job->keys.type, x->job->keys.org);
    if (!pause)
        return false;
    x->facts.at[FACT_BY] = pause->org ? S(" for its org") : S(" for every org");
    explain_times(x, pause->since, pause->until);
    *cause = CAUSE_TYPE_PAUSED;
    return true;
}

bool explain_limits(struct explaining *x, enum cause *cause, bool *shut, struct pawl_error *err)
{
    struct limited all[LIMIT_SCOPES];
    size_t count = limited_by(x->job, all);
    struct gates gates;
    *shut = false;
    if (!gates_read(x->tx, &gates, err))
        return false;
    if (!gates.some)
        return true;
    *shut = look_at_pauses(x, &gates, cause);
    for (size_t i = 0; i < count && !*shut; i++)
        if (!look_at(x, &gates, &all[i], cause, shut, err))
            return false;
    return true;
}

bool explain_limit_key(struct explaining *x, bool *waits, struct pawl_error *err)
{
    int64_t found = 0;
    enum cause cause = CAUSE_LIMIT_KEY_NEXT;
    bool shut = false;
    {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask(x->tx, &rows, Q_LIMIT_WAIT_OF_JOB, err, INT(x->job->id.high))
            || !rows_number(&rows, &found, err))
            return false;
    }
    *waits = found != 0;
    if (!*waits)
        return true;
    x->facts.at[FACT_WORD] = whose(x, LIMIT_KEY);
    explain_times(x, 0, 0);
    if (!explain_limits(x, &cause, &shut, err))
        return false;
    explain_say(x, cause);
    return true;
}
