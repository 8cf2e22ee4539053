// Raising, taking and settling. Every statement that changes an alert names its row or its summary.
#include "engine/alert.h"

#include <assert.h>

#define TARGET_US_MAX DAYS(7)  // nobody spoke of it for so long: nobody is there to be told

// Whoever reads of it in a log wants to know which request it came of (OPS-12).
static bool read_about(struct tx *tx, struct subject *subject, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ALERT_ABOUT, err, INT(subject->job), INT(subject->org)))
        return false;
    if (rows_next(&rows)) {
        subject->project_id = row_text(&rows);
        subject->request_id = row_text(&rows);
        subject->correlation_id = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

bool alert_raise(struct tx *tx, struct subject *subject, enum alert_kind kind,
                 struct pawl_error *err)
{
    assert(kind > ALERT_NONE && kind < ALERT_KINDS);
    subject->alert = kind;
    return (!tx->observed || read_about(tx, subject, err))
        && sql_run(tx, Q_ALERT_INSERT, err, TEXT(str_of(alert_kind_name(kind))),
                   INT(subject->org), INT(subject->job), INT(subject->job_low), INT(tx->now),
                   INT(alert_bit(kind)), INT(tx->now - TARGET_US_MAX));
}

// ----- targets

static bool target_find(struct tx *tx, struct str name, int64_t *id, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_ALERT_TARGET_FIND, err, TEXT(name))
        && rows_number(&rows, id, err);
}

bool alert_target_put(struct tx *tx, struct alert_target *target, struct pawl_error *err)
{
    return sql_run(tx, Q_ALERT_TARGET_PUT, err, TEXT(target->name), INT(target->kinds),
                   INT(tx->now))
        && target_find(tx, target->name, &target->id, err);
}

bool alert_target_drop(struct tx *tx, struct str name, struct pawl_error *err)
{
    int64_t id = 0;
    return target_find(tx, name, &id, err)
        && sql_run(tx, Q_ALERTS_OF_TARGET_DELETE, err, INT(id))
        && sql_run(tx, Q_ALERT_TARGET_DELETE, err, INT(id));
}

// ----- taking

static bool own(struct tx *tx, const struct alert_taking *taking, bool *owned,
                struct pawl_error *err)
{
    int64_t changed = 0;
    bool done = sql_run_counting(tx, Q_ALERT_TARGET_OWN, &changed, err, INT(taking->target),
                                 TEXT(taking->owner), INT(tx->now + taking->lease_us),
                                 INT(tx->now));
    *owned = changed == 1;
    return done;
}

static bool oldest(struct tx *tx, struct parcel *parcel, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ALERT_OLDEST, err, INT(parcel->target), INT(tx->now)))
        return false;
    if (rows_next(&rows)) {
        parcel->first = row_int(&rows);
        parcel->summary = row_int(&rows) != 0;
        parcel->attempts = row_int(&rows);
        (void)alert_kind_parse(row_text(&rows), &parcel->kind);  // the schema allows no others
        parcel->job.high = row_int(&rows);
        parcel->job.low = row_int(&rows);
        parcel->at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool untold(struct tx *tx, int64_t target, int64_t *count, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_ALERT_UNTOLD, err, INT(target), INT(tx->now))
        && rows_number(&rows, count, err);
}

bool alert_take(struct tx *tx, const struct alert_taking *taking, struct parcel *parcel,
                struct pawl_error *err)
{
    bool owned = false;
    int64_t waiting = 0;
    *parcel = (struct parcel){ .target = taking->target };
    assert(taking->allowance >= 1);
    if (!own(tx, taking, &owned, err))
        return false;
    if (!owned)
        return true;
    if (!oldest(tx, parcel, err) || !untold(tx, taking->target, &waiting, err))
        return false;
    bool storm = parcel->first && !parcel->summary && parcel->attempts == 0
              && taking->allowance == 1 && waiting > 1;
    parcel->summary |= storm;
    return !storm
        || sql_run(tx, Q_ALERT_GATHER, err, INT(taking->target), INT(tx->now),
                   INT(parcel->first), INT(ALERTS_IN_SUMMARY_MAX));
}

// ----- settling

bool alert_settle(struct tx *tx, const struct parcel *parcel, const struct alert_outcome *outcome,
                  struct pawl_error *err)
{
    bool over = outcome->delivered || outcome->give_up;
    assert(parcel->first);
    return sql_run(tx, Q_ALERT_SETTLE, err, INT(parcel->first),
                   over ? NONE : INT(tx->now + outcome->delay_us), over ? INT(tx->now) : NONE,
                   INT(over && !outcome->delivered),
                   outcome->delivered ? NONE : TEXT_OR_NONE(outcome->error))
        && (!over || sql_run(tx, Q_ALERTS_TIDY, err, INT(ALERTS_KEPT)));
}

bool alert_due(struct tx *tx, int64_t target, pawl_time *due, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_ALERT_DUE, err, INT(target)) && rows_number(&rows, due, err);
}
