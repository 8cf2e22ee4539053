// Who is running, and what an earlier boot of the same instance left behind.
#include "base/json.h"
#include "base/time_text.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/sweep.h"
#include "model/text_rule.h"
#include "store/names.h"

struct holder {
    struct str boot_id;
    pawl_time alive_until;
    bool unheld;
};

static bool holder_of(struct tx *tx, struct str name, struct holder *holder,
                      struct pawl_error *err)
{
    *holder = (struct holder){0};
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_INSTANCE_LOAD, err, TEXT(name)))
        return false;
    if (rows_next(&rows)) {
        holder->boot_id = row_text(&rows);
        holder->alive_until = row_int(&rows);
        holder->unheld = row_int(&rows) != 0;
    }
    return rows_ok(&rows, err);
}

// Remote workers have the empty name: nobody may speak for all of them.
static bool instance_check(const struct instance *instance, struct pawl_error *err)
{
    return (text_is_key(instance->name) && text_is_key(instance->boot_id))
        || fail(err, PAWL_INVALID, "instance: must have a name and a boot id");
}

// Of the whole store, and not in the name of whoever else's transaction this is part of.
static bool tell(struct tx *tx, const struct instance *instance, enum event event,
                 struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    struct str subject = str_format(tx->arena, "instance:%.*s", STR(instance->name));
    SCOPED(json) json_t *boot = json_pack("{s:s%}", "boot_id", instance->boot_id.s,
                                          instance->boot_id.n);
    tx->caller = &caller_pawl;
    bool told = event_append_for(tx, 0, subject, event, json_text(tx->arena, boot), err);
    tx->caller = caller;
    return told;
}

bool instance_enter(struct tx *tx, const struct instance *instance, bool held,
                    struct pawl_error *err)
{
    struct holder holder;
    if (!instance_check(instance, err))
        return false;
    if (!holder_of(tx, instance->name, &holder, err))
        return false;
    bool dead = held && !holder.unheld;
    if (!dead && holder.alive_until > tx->now && !str_eq(holder.boot_id, instance->boot_id))
        return fail(err, PAWL_CONFLICT, "instance %.*s runs already (alive until %.*s): give this "
                                        "process a name of its own",
                    STR(instance->name),
                    STR(time_text(tx->arena, holder.alive_until)));
    return sql_run(tx, Q_INSTANCE_PUT, err, TEXT(instance->name), TEXT(instance->boot_id),
                   INT(tx->now), INT(tx->now + ALIVE_US), INT(!held))
        && (str_eq(holder.boot_id, instance->boot_id)
            || tell(tx, instance, EVENT_INSTANCE_STARTED, err));
}

bool instance_alive(struct tx *tx, const struct instance *instance, struct pawl_error *err)
{
    int64_t changed = 0;
    if (!sql_run_counting(tx, Q_INSTANCE_RENEW, &changed, err, TEXT(instance->name),
                          TEXT(instance->boot_id), INT(tx->now + ALIVE_US)))
        return false;
    return changed == 1
        || fail(err, PAWL_FENCED, "another process has taken over instance %.*s",
                STR(instance->name));
}

bool instance_leave(struct tx *tx, const struct instance *instance, struct pawl_error *err)
{
    int64_t changed = 0;
    return sql_run_counting(tx, Q_INSTANCE_LEAVE, &changed, err, TEXT(instance->name),
                            TEXT(instance->boot_id))
        && (changed == 0 || tell(tx, instance, EVENT_INSTANCE_STOPPED, err));
}

static bool orphans(struct tx *tx, const struct instance *instance, size_t limit,
                    struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTION_ORPHANS, err, TEXT(instance->name),
                   TEXT(instance->boot_id), INT((int64_t)limit))
        && rows_keys(&rows, keys, err);
}

// A process that stalled between entering and recovering may find itself replaced.
static bool still_ours(struct tx *tx, const struct instance *instance, struct pawl_error *err)
{
    struct holder holder;
    if (!holder_of(tx, instance->name, &holder, err))
        return false;
    return holder.boot_id.n == 0 || str_eq(holder.boot_id, instance->boot_id)
        || fail(err, PAWL_FENCED, "another process has taken over instance %.*s",
                STR(instance->name));
}

// A slot whose job has ended with the run is closed with it; one that is tried again is not.
static bool count_slot(struct tx *tx, const struct execution *e, struct recovered *recovered,
                       struct pawl_error *err)
{
    struct job job;
    bool slot = false;
    // defensive: the end of the run has asked for the policy, and the connection remembers it
    if (!policy_is_slot(tx, e->policy, &slot, err))
        return false;
    if (slot && !job_load_row(tx, e->job.high, &job, err))
        return false;
    recovered->slots += slot && job_state_final(job.state);
    return true;
}

static bool recover(struct tx *tx, int64_t key, struct recovered *recovered,
                    struct pawl_error *err)
{
    struct execution e;
    struct work_error died = { .class = ERROR_CRASH, .message = S("its process was terminated") };
    if (!execution_load_row(tx, key, &e, err))
        return false;
    bool committed = e.status == EXECUTION_COMMITTED;
    bool done = committed ? execution_reconcile(tx, &e, err)
                          : execution_end(tx, &e, END_PROCESS_TERMINATED, &died, err)
                                && count_slot(tx, &e, recovered, err);
    *(committed ? &recovered->finished : &recovered->ended) += done;
    return done;
}

static bool recover_all(struct tx *tx, const struct instance *instance, size_t limit,
                        struct recovered *recovered, struct pawl_error *err)
{
    struct keys keys;
    if (!instance_check(instance, err) || !still_ours(tx, instance, err)
        || !orphans(tx, instance, limit, &keys, err))
        return false;
    for (size_t i = 0; i < keys.count; i++) {
        if (recover(tx, keys.at[i], recovered, err))
            continue;
        if (err->code != PAWL_DAMAGED)
            return false;
        recovered->damaged++;
    }
    recovered->more = keys.count == limit && recovered->damaged < limit;
    return true;
}

bool boot_recover(struct tx *tx, const struct instance *instance, size_t limit,
                  struct recovered *recovered, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    struct pawl_error unseen;
    *recovered = (struct recovered){0};
    tx->caller = caller ? caller : &caller_pawl;
    bool done = recover_all(tx, instance, limit, recovered, err ? err : &unseen);
    tx->caller = caller;
    return done;
}
