// The form in which events and seals are hashed, and the sealer's work.
//
// Every value has its length before it, so that no two events have the same bytes. What an event
// takes from its job is hashed with it: a job cannot be changed under its trail either.
#include "engine/seal.h"

#include <string.h>

#include "base/id.h"
#include "base/list.h"
#include "store/names.h"

// ----- one event

// A number that has no name is damage, which another hash will show.
static bool sum_name(struct tx *tx, enum name_kind kind, int64_t number, struct hash_sum *sum,
                     struct pawl_error *err)
{
    struct str text = S("");
    if (number != 0 && !name_look(tx, kind, number, &text, err))
        return false;
    if (number != 0 && text.n == 0)
        text = str_format(tx->arena, "#%lld", (long long)number);
    sum_text(sum, text);
    return true;
}

// The columns of Q_AUDIT_PAGE_AFTER, in their order. A hash of what could not be read would call
// the event another one for ever.
static bool hash_event(struct tx *tx, struct rows *rows, struct sealed_event *event,
                       struct pawl_error *err)
{
    struct hash_sum sum;
    sum_begin(&sum);
    event->id = row_int(rows);
    sum_number(&sum, event->id);
    if (!sum_name(tx, NAME_ORG, row_int(rows), &sum, err))
        return false;
    sum_number(&sum, row_int(rows));  // the kind of event
    sum_text(&sum, row_text(rows));   // project
    sum_number(&sum, row_int(rows));  // attempt
    event->at = row_int(rows);
    sum_number(&sum, event->at);
    sum_number(&sum, row_int(rows));  // actor_type
    for (int i = 0; i < 4; i++)       // actor, request, correlation, detail
        sum_text(&sum, row_text(rows));
    sum_number(&sum, row_int(rows));  // the job's id, in two numbers
    sum_number(&sum, row_int(rows));
    if (!sum_name(tx, NAME_JOB_TYPE, row_int(rows), &sum, err))
        return false;
    sum_text(&sum, row_text(rows));   // subject
    sum_end(&sum, event->hash);
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to read an audit event");
}

bool sealed_event_next(struct tx *tx, struct rows *rows, struct sealed_event *event, bool *got,
                       struct pawl_error *err)
{
    *got = rows_next(rows);
    return *got ? hash_event(tx, rows, event, err) : rows_ok(rows, err);
}

// ----- one seal

void seal_hash(const struct seal *seal, struct str before, char digits[HASH_DIGITS + 1])
{
    struct hash_sum sum;
    sum_begin(&sum);
    sum_text(&sum, S("pawl audit seal 1"));
    sum_text(&sum, before);
    sum_number(&sum, seal->number);
    sum_number(&sum, seal->first_id);
    sum_number(&sum, seal->last_id);
    sum_number(&sum, seal->events);
    sum_number(&sum, seal->newest_at);
    sum_number(&sum, seal->sealed_at);
    sum_text(&sum, seal->contents);
    sum_end(&sum, digits);
}

void seal_read(struct rows *rows, struct seal *seal)
{
    seal->number = row_int(rows);
    seal->first_id = row_int(rows);
    seal->last_id = row_int(rows);
    seal->events = row_int(rows);
    seal->newest_at = row_int(rows);
    seal->sealed_at = row_int(rows);
    seal->contents = row_text(rows);
    seal->hash = row_text(rows);
    seal->marks = row_text(rows);
    seal->pruned_at = row_int(rows);
}

struct str seal_subject(struct arena *arena, int64_t number)
{
    return str_format(arena, "seal:%lld", (long long)number);
}

static bool load(struct tx *tx, enum query query, struct seal *seal, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *seal = (struct seal){0};
    if (!sql_ask_plain(tx, &rows, query, err))
        return false;
    if (rows_next(&rows))
        seal_read(&rows, seal);
    return rows_ok(&rows, err);
}

bool seal_newest(struct tx *tx, struct seal *seal, struct pawl_error *err)
{
    return load(tx, Q_SEAL_NEWEST, seal, err);
}

bool seal_newest_pruned(struct tx *tx, struct seal *seal, struct pawl_error *err)
{
    return load(tx, Q_SEAL_NEWEST_PRUNED, seal, err);
}

bool seal_over(struct tx *tx, int64_t from, int64_t event, struct seal *seal,
               struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *seal = (struct seal){0};
    if (!sql_ask(tx, &rows, Q_SEAL_OVER, err, INT(from), INT(event)))
        return false;
    if (rows_next(&rows))
        seal_read(&rows, seal);
    return rows_ok(&rows, err);
}

bool seal_load(struct tx *tx, int64_t number, struct seal *seal, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *seal = (struct seal){0};
    if (!sql_ask(tx, &rows, Q_SEAL_LOAD, err, INT(number)))
        return false;
    if (rows_next(&rows))
        seal_read(&rows, seal);
    return rows_ok(&rows, err);
}

bool seal_fits(struct tx *tx, const struct seal *before, const struct seal *seal, bool *fits,
               struct pawl_error *err)
{
    char contents[HASH_DIGITS + 1], hash[HASH_DIGITS + 1];
    struct sealed_event event = {0};
    struct hash_sum sum;
    int64_t events = 0;
    bool got = false;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_AUDIT_PAGE_AFTER, err, INT(before->last_id),
                 INT(SEAL_EVENTS_MAX + 1)))
        return false;
    sum_begin(&sum);
    for (;;) {
        if (!sealed_event_next(tx, &rows, &event, &got, err))
            return false;
        if (!got || event.id > seal->last_id)
            break;
        sum_text(&sum, str_of(event.hash));
        events++;
    }
    sum_end(&sum, contents);
    seal_hash(seal, before->hash, hash);
    *fits = events == seal->events && str_eq(str_of(contents), seal->contents)
         && str_eq(str_of(hash), seal->hash);
    return true;
}

// ----- sealing

// The events that follow the last seal, gathered until they are enough for the next.
struct gathering {
    struct seal seal;
    struct hash_sum sum;
    char marks[SEAL_EVENTS_MAX * SEAL_MARK_DIGITS];
    pawl_time oldest_at;
};

static void begin(struct gathering *g, const struct seal *before)
{
    g->seal = (struct seal){ .number = before->number + 1 };
    sum_begin(&g->sum);
}

static void gather(struct gathering *g, const struct sealed_event *event)
{
    struct seal *seal = &g->seal;
    if (seal->events == 0) {
        seal->first_id = event->id;
        g->oldest_at = event->at;
    }
    memcpy(g->marks + seal->events * SEAL_MARK_DIGITS, event->hash, SEAL_MARK_DIGITS);
    seal->events++;
    seal->last_id = event->id;
    seal->newest_at = event->at;
    sum_text(&g->sum, str_of(event->hash));
}

static bool finish(struct tx *tx, struct gathering *g, struct str before, struct list *made,
                   struct pawl_error *err)
{
    struct seal *seal = list_add(made);
    char digits[HASH_DIGITS + 1];
    if (!seal)
        return fail(err, PAWL_NO_MEMORY, "no memory to seal the audit trail");
    sum_end(&g->sum, digits);
    g->seal.sealed_at = tx->now;
    g->seal.contents = str_dup(tx->arena, str_of(digits));
    g->seal.marks = str_dup(tx->arena, (struct str){ g->marks, (size_t)g->seal.events
                                                                   * SEAL_MARK_DIGITS });
    seal_hash(&g->seal, before, digits);
    g->seal.hash = str_dup(tx->arena, str_of(digits));
    *seal = g->seal;
    return true;
}

static bool make_some(struct tx *tx, struct rows *rows, bool all, struct seal last,
                      struct list *made, struct pawl_error *err)
{
    struct gathering g;
    struct sealed_event event;
    bool got = true;
    begin(&g, &last);
    while (got) {
        if (!sealed_event_next(tx, rows, &event, &got, err))
            return false;
        if (got)
            gather(&g, &event);
        bool waited = all || (g.seal.events > 0 && tx->now - g.oldest_at >= SEAL_AFTER_US);
        if (g.seal.events < SEAL_EVENTS_MAX && (got || g.seal.events == 0 || !waited))
            continue;
        if (!finish(tx, &g, last.hash, made, err))
            return false;
        last = g.seal;
        begin(&g, &last);
    }
    return true;
}

bool seals_make(struct tx *tx, size_t max, bool all, struct seals *seals, struct pawl_error *err)
{
    struct list made = list_of(tx->arena, sizeof(struct seal));
    struct seal last;
    SCOPED(rows) struct rows rows = {0};
    int64_t events_max = (int64_t)max * SEAL_EVENTS_MAX;
    *seals = (struct seals){0};
    if (!seal_newest(tx, &last, err)
        || !sql_ask(tx, &rows, Q_AUDIT_PAGE_AFTER, err, INT(last.last_id), INT(events_max))
        || !make_some(tx, &rows, all, last, &made, err))
        return false;
    *seals = (struct seals){ .at = made.items, .count = made.count };
    if (seals->count > 0 && seals->count == max)
        seals->more = seals->at[max - 1].events == SEAL_EVENTS_MAX;
    return true;
}

bool seals_put(struct tx *tx, const struct seals *seals, struct pawl_error *err)
{
    struct seal last;
    if (seals->count == 0)
        return true;
    if (!seal_newest(tx, &last, err))
        return false;
    if (last.number + 1 != seals->at[0].number)
        return fail(err, PAWL_CONFLICT, "somebody else has sealed the audit trail meanwhile");
    for (size_t i = 0; i < seals->count; i++) {
        const struct seal *s = &seals->at[i];
        if (!sql_run(tx, Q_SEAL_INSERT, err, INT(s->number), INT(s->first_id), INT(s->last_id),
                     INT(s->events), INT(s->newest_at), INT(s->sealed_at), TEXT(s->contents),
                     TEXT(s->hash), TEXT(s->marks)))
            return false;
    }
    return true;
}
