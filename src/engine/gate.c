// One list of gates per scope; a claim meets few subjects, and the last one most often.
#include "engine/gate.h"

#include <assert.h>

#include "engine/job.h"
#include "store/observe.h"

// A key that waits for a run to end is looked at when one does; and then, in case it was missed.
#define KEY_LOOK_US SECONDS(30)

void gates_look_at(struct gates *gates, pawl_time at)
{
    if (at && (gates->next == 0 || at < gates->next))
        gates->next = at;
}

// ----- one gate

static bool bucket_load(struct tx *tx, struct gate *gate, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_BUCKET_LOAD, err, INT((int64_t)gate->of.scope),
                   INT(gate->of.subject), INT(gate->of.org), TEXT(gate->of.key))
        && rows_number(&rows, &gate->full_at_ns, err);
}

static bool gate_load(struct tx *tx, struct gate *gate, struct pawl_error *err)
{
    return limit_in_force(tx, gate->of.scope, gate->of.subject, &gate->limit, err)
        && (gate->limit.max_running == 0 || limit_use(tx, &gate->of, &gate->use, err))
        && (gate->limit.rate.count == 0 || bucket_load(tx, gate, err));
}

static bool same(const struct limited *a, const struct limited *b)
{
    return a->subject == b->subject && a->org == b->org && str_eq(a->key, b->key);
}

// The gate that was found before; NULL: none was.
static struct gate *gate_known(struct gates *gates, const struct limited *of)
{
    struct gate *all = gates->all[of->scope].items;
    for (size_t i = gates->all[of->scope].count; i > 0; i--)
        if (same(&all[i - 1].of, of))
            return &all[i - 1];
    return NULL;
}

bool gate_find(struct tx *tx, struct gates *gates, const struct limited *of, struct gate **gate,
               struct pawl_error *err)
{
    *gate = gate_known(gates, of);
    if (*gate)
        return true;
    *gate = list_add(&gates->all[of->scope]);
    if (!*gate)
        return fail(err, PAWL_NO_MEMORY, "no memory for the limits of a claim");
    (*gate)->of = *of;
    return gate_load(tx, *gate, err);
}

static size_t gate_room(const struct gate *gate, pawl_time now)
{
    const struct limit *limit = &gate->limit;
    int64_t room = INT64_MAX;
    if (limit->max_running > 0)
        room = limit->max_running - gate->use.running;
    if (limit->rate.count > 0) {
        int64_t tokens = rate_room(&limit->rate, gate->full_at_ns, now);
        room = tokens < room ? tokens : room;
    }
    return room > 0 ? (size_t)room : 0;
}

bool gate_shut(const struct gate *gate, pawl_time now, enum limit_way *way, pawl_time *until)
{
    const struct limit *limit = &gate->limit;
    if (gate_room(gate, now) > 0)
        return false;
    bool full = limit->max_running > 0 && gate->use.running >= limit->max_running;
    *way = full ? LIMIT_BY_RUNNING : LIMIT_BY_RATE;
    *until = full ? 0 : rate_next(&limit->rate, gate->full_at_ns, now);
    return true;
}

// Says once that it is shut, and remembers when it opens.
static size_t room_or_wait(struct tx *tx, struct gates *gates, struct gate *gate)
{
    enum limit_way way;
    pawl_time until = 0;
    if (!gate_shut(gate, tx->now, &way, &until))
        return gate_room(gate, tx->now);
    gates_look_at(gates, until);
    if (!gate->told)
        observe_limited(tx, gate->of.scope, way);
    gate->told = true;
    return 0;
}

bool gates_room(struct tx *tx, struct gates *gates, enum limit_scope scope, int64_t subject,
                size_t *room, struct pawl_error *err)
{
    struct gate *gate = NULL;
    *room = SIZE_MAX;
    if (!gates->some)
        return true;
    if (!gate_find(tx, gates, &(struct limited){ .scope = scope, .subject = subject }, &gate, err))
        return false;
    *room = room_or_wait(tx, gates, gate);
    return true;
}

// ----- pauses

const struct type_pause *gates_pause(const struct gates *gates, int64_t type, int64_t org)
{
    for (size_t i = 0; i < gates->pause_count; i++) {
        const struct type_pause *pause = &gates->pauses[i];
        if (pause->type == type && (pause->org == 0 || pause->org == org))
            return pause;
    }
    return NULL;
}

bool gates_type_paused(struct gates *gates, int64_t type, int64_t org)
{
    const struct type_pause *pause = gates_pause(gates, type, org);
    if (pause)
        gates_look_at(gates, pause->until);
    return pause != NULL;
}

bool gates_room_of_type(struct tx *tx, struct gates *gates, int64_t type, int64_t org,
                        size_t *room, struct pawl_error *err)
{
    *room = 0;
    return gates_type_paused(gates, type, org)
        || gates_room(tx, gates, LIMIT_TYPE, type, room, err);
}

// ----- keys

bool gates_key(struct tx *tx, struct gates *gates, const struct job *job, bool *passes,
               struct pawl_error *err)
{
    struct gate *gate = NULL;
    struct str key = job->contract.limit_key;
    enum limit_way way;
    *passes = true;
    if (!gates->some || key.n == 0)
        return true;
    struct limited of = { LIMIT_KEY, job->keys.type, job->keys.org, key };
    if (!gate_find(tx, gates, &of, &gate, err))
        return false;
    *passes = !gate_shut(gate, tx->now, &way, &gate->wake_at);
    if (*passes)
        return true;
    if (gate->wake_at == 0)
        gate->wake_at = tx->now + KEY_LOOK_US;
    room_or_wait(tx, gates, gate);
    gates->parked++;
    return place_behind_key(tx, job, err);
}

static bool waits_of(struct tx *tx, const struct gate *gate, int64_t limit, struct keys *jobs,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_LIMIT_WAITS_OF_KEY, err, INT(gate->of.subject), INT(gate->of.org),
                   TEXT(gate->of.key), INT(limit))
        && rows_keys(&rows, jobs, err);
}

static bool come_back(struct tx *tx, int64_t key, struct pawl_error *err)
{
    struct job job;
    if (!job_load_row(tx, key, &job, err) || !place_leave(tx, &job, err))
        return false;
    struct waiting waiting = waiting_of(&job);
    return place_queue(tx, &waiting, 0, &job.phase, err);
}

// When to look again at those who wait, after so many came back and will have passed.
static pawl_time next_look(const struct gate *gate, size_t back, pawl_time now)
{
    const struct rate *rate = &gate->limit.rate;
    int64_t full_at_ns = gate->full_at_ns;
    if (gate_room(gate, now) > back)
        return now;
    if (rate->count == 0)
        return now + KEY_LOOK_US;
    for (size_t i = 0; i < back; i++)
        full_at_ns = rate_take(rate, full_at_ns, now);
    return rate_next(rate, full_at_ns, now);
}

// Lets as many come back as may pass now; the others wait for the next time. One whose records are
// damaged would be in the way of all behind it: it stays parked, and `verify` tells of it.
static bool look_at_key(struct tx *tx, struct gate *gate, struct pawl_error *err)
{
    size_t room = gate_room(gate, tx->now), back = 0;
    size_t most = room < GATE_PARKS_MAX ? room : GATE_PARKS_MAX;
    struct keys jobs = {0};
    if (!waits_of(tx, gate, (int64_t)most + 1, &jobs, err))
        return false;
    for (; back < jobs.count && back < most; back++) {
        struct pawl_error why = {0};
        bool came = come_back(tx, jobs.at[back], &why);
        if (!came && why.code != PAWL_DAMAGED)
            return fail(err, why.code, "%s", why.message);
        if (!came && !sql_run(tx, Q_LIMIT_WAIT_DELETE, err, INT(jobs.at[back])))
            return false;
    }
    bool more = jobs.count > back;
    pawl_time next = next_look(gate, back, tx->now);
    if (more && next == tx->now)
        tx_has_news(tx, NEWS_ANY);
    return sql_run(tx, Q_BUCKET_WAKE, err, INT(gate->of.subject), INT(gate->of.org),
                   TEXT(gate->of.key),
                   INT(gate->full_at_ns), more ? INT(next) : NONE);
}

static bool due_keys(struct tx *tx, struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_BUCKET_DUE, err, INT(tx->now), INT(GATE_KEYS_MAX)))
        return false;
    while (rows_next(&rows)) {
        struct limited *due = list_add(list);
        if (!due)
            return fail(err, PAWL_NO_MEMORY, "no memory for the limits of a claim");
        due->scope = LIMIT_KEY;
        due->subject = row_int(&rows);
        due->org = row_int(&rows);
        due->key = row_text(&rows);
    }
    if (list->count == GATE_KEYS_MAX)
        tx_has_news(tx, NEWS_ANY);
    return rows_ok(&rows, err);
}

static bool look_at_keys(struct tx *tx, struct gates *gates, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct limited));
    if (!due_keys(tx, &list, err))
        return false;
    const struct limited *due = list.items;
    for (size_t i = 0; i < list.count; i++) {
        struct gate *gate = NULL;
        if (!gate_find(tx, gates, &due[i], &gate, err) || !look_at_key(tx, gate, err))
            return false;
    }
    return true;
}

// ----- the whole claim

bool gates_read(struct tx *tx, struct gates *gates, struct pawl_error *err)
{
    *gates = (struct gates){ .some = tx->has_limits };
    if (!gates->some)
        return true;
    for (size_t i = 0; i < LIMIT_SCOPES; i++)
        gates->all[i] = list_of(tx->arena, sizeof(struct gate));
    return type_pauses(tx, &gates->pauses, &gates->pause_count, err);
}

bool gates_open(struct tx *tx, struct gates *gates, struct pawl_error *err)
{
    return gates_read(tx, gates, err) && (!gates->some || look_at_keys(tx, gates, err));
}

size_t limited_by(const struct job *job, struct limited all[LIMIT_SCOPES])
{
    struct str key = job->contract.limit_key;
    all[LIMIT_QUEUE] = (struct limited){ .scope = LIMIT_QUEUE, .subject = job->keys.queue };
    all[LIMIT_TYPE] = (struct limited){ .scope = LIMIT_TYPE, .subject = job->keys.type };
    all[LIMIT_ORG] = (struct limited){ .scope = LIMIT_ORG, .subject = job->keys.org };
    all[LIMIT_KEY] = (struct limited){ LIMIT_KEY, job->keys.type, job->keys.org, key };
    return key.n ? LIMIT_SCOPES : LIMIT_KEY;
}

static void pass(struct tx *tx, struct gate *gate, bool *held)
{
    *held = *held || gate->limit.max_running > 0;
    gate->use.running++;
    if (gate->limit.rate.count == 0)
        return;
    gate->full_at_ns = rate_take(&gate->limit.rate, gate->full_at_ns, tx->now);
    gate->moved = true;
}

bool gates_pass(struct tx *tx, struct gates *gates, const struct job *job, struct pawl_error *err)
{
    struct limited all[LIMIT_SCOPES];
    size_t count = limited_by(job, all);
    bool held = false;
    if (!gates->some)
        return true;
    for (size_t i = 0; i < count; i++) {
        struct gate *gate = gate_known(gates, &all[i]);
        assert(gate);  // it was looked at whether there is room
        pass(tx, gate, &held);
    }
    return !held
        || sql_run(tx, Q_LIMIT_HOLD, err, INT(job->id.high), INT(job->keys.queue),
                   INT(job->keys.type), INT(job->keys.org), TEXT(job->contract.limit_key));
}

static bool gate_store(struct tx *tx, const struct gate *gate, struct pawl_error *err)
{
    if (gate->wake_at)
        return sql_run(tx, Q_BUCKET_WAKE, err, INT(gate->of.subject), INT(gate->of.org),
                       TEXT(gate->of.key),
                       INT(gate->full_at_ns), INT(gate->wake_at));
    return !gate->moved
        || sql_run(tx, Q_BUCKET_PUT, err, INT((int64_t)gate->of.scope), INT(gate->of.subject),
                   INT(gate->of.org), TEXT(gate->of.key), INT(gate->full_at_ns));
}

bool gates_close(struct tx *tx, struct gates *gates, struct pawl_error *err)
{
    pawl_time next = 0;
    if (!gates->some)
        return true;
    for (size_t scope = 0; scope < LIMIT_SCOPES; scope++) {
        const struct gate *all = gates->all[scope].items;
        for (size_t i = 0; i < gates->all[scope].count; i++)
            if (!gate_store(tx, &all[i], err))
                return false;
    }
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_BUCKET_NEXT, err, INT(tx->now)) || !rows_number(&rows, &next, err))
        return false;
    gates_look_at(gates, next);
    return true;
}
