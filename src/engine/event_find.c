// The audit trail of an org, by a bounded look at the rows of the store: the newest first, or those
// after one that is known.
//
// An index by org would cost every event of every job more than it saves here: see job_find.c.
#include "base/list.h"
#include "engine/event.h"
#include "engine/job.h"
#include "store/names.h"

enum { ROWS_MAX = 2000, PAGE_MAX = 1000 };

struct looking {
    const struct event_filter *filter;
    int64_t org;  // 0: all
    struct list found;
    size_t limit, seen;
    int64_t last;  // the id of the last row that was looked at
};

// The head of a row says whether it is asked for: of others nothing else is read. Events of no job
// have no project, so a limited caller does not see them.
static bool fits(const struct tx *tx, struct looking *l, struct rows *rows,
                 struct audit_event *event, int64_t *org)
{
    l->last = event->id = row_int(rows);
    *org = row_int(rows);
    int64_t number = row_int(rows);
    bool known = number > 0 && number < EVENTS;
    event->event = known ? (enum event)number : 0;
    bool wanted = known && (l->filter->event == 0 || event->event == l->filter->event);
    if (!wanted || (l->org != 0 && *org != l->org))
        return false;
    event->project_id = row_text(rows);
    return caller_sees(tx->caller, event->project_id);
}

static bool read_rest(struct tx *tx, struct rows *rows, struct audit_event *event, int64_t org,
                      struct pawl_error *err)
{
    event->attempt = row_int(rows);
    event->at = row_int(rows);
    event->actor_type = (enum actor_type)row_int(rows);
    event->actor_id = row_text(rows);
    event->request_id = row_text(rows);
    event->correlation_id = row_text(rows);
    event->detail = row_text(rows);
    event->job.high = row_int(rows);
    event->job.low = row_int(rows);
    int64_t type = row_int(rows);
    event->subject = row_text(rows);
    return (org == 0 || name_text(tx, NAME_ORG, org, &event->org_id, err))
        && (type == 0 || name_text(tx, NAME_JOB_TYPE, type, &event->job_type, err));
}

static bool look(struct tx *tx, struct looking *l, struct rows *rows, struct pawl_error *err)
{
    while (l->found.count < l->limit && rows_next(rows)) {
        struct audit_event event = {0};
        int64_t org = 0;
        l->seen++;
        if (!fits(tx, l, rows, &event, &org))
            continue;
        struct audit_event *kept = list_add(&l->found);
        if (!kept)
            return fail(err, PAWL_NO_MEMORY, "no memory for the audit trail");
        if (!read_rest(tx, rows, &event, org, err))
            return false;
        *kept = event;
    }
    return rows_ok(rows, err);
}

static bool ask(struct tx *tx, const struct event_filter *f, struct rows *rows,
                struct pawl_error *err)
{
    int64_t before = f->before ? f->before : INT64_MAX;
    if (f->has_job)
        return sql_ask(tx, rows, Q_AUDIT_PAGE_OF_JOB, err, INT(before), INT(f->after),
                       INT(ROWS_MAX), INT(f->job.high));
    enum query query = f->of_store ? Q_AUDIT_PAGE_OF_STORE : Q_AUDIT_PAGE;
    return sql_ask(tx, rows, query, err, INT(before), INT(f->after), INT(ROWS_MAX));
}

bool events_of_org(struct tx *tx, const struct event_filter *filter, struct event_list *list,
                   struct pawl_error *err)
{
    struct job job;
    struct looking l = {
        .filter = filter,
        .limit = PAGE_MAX,
        .found = list_of(tx->arena, sizeof(struct audit_event)),
    };
    if (filter->limit > 0 && filter->limit < PAGE_MAX)
        l.limit = (size_t)filter->limit;
    SCOPED(rows) struct rows rows = {0};
    if ((filter->has_job && !job_load(tx, filter->job, &job, err))
        || !caller_org(tx, &l.org, err) || !ask(tx, filter, &rows, err)
        || !look(tx, &l, &rows, err))
        return false;
    bool more = l.found.count == l.limit || l.seen == ROWS_MAX;
    *list = (struct event_list){ l.found.items, l.found.count, more ? l.last : 0 };
    return true;
}

bool events_after(struct tx *tx, int64_t *after, size_t limit, struct event_list *list,
                  struct pawl_error *err)
{
    static const struct event_filter any;
    struct looking l = {
        .filter = &any,
        .limit = limit,
        .last = *after,
        .found = list_of(tx->arena, sizeof(struct audit_event)),
    };
    SCOPED(rows) struct rows rows = {0};
    if (!caller_org(tx, &l.org, err)
        || !sql_ask(tx, &rows, Q_AUDIT_PAGE_AFTER, err, INT(*after), INT(ROWS_MAX))
        || !look(tx, &l, &rows, err))
        return false;
    bool more = l.found.count == l.limit || l.seen == ROWS_MAX;
    *list = (struct event_list){ l.found.items, l.found.count, more ? l.last : 0 };
    *after = l.last;
    return true;
}

// The first event from this id on.
static bool event_from(struct tx *tx, int64_t id, int64_t *found, pawl_time *at,
                       struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *found = *at = 0;
    if (!sql_ask(tx, &rows, Q_AUDIT_FROM, err, INT(id)))
        return false;
    if (rows_next(&rows)) {
        *found = row_int(&rows);
        *at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

// Time rises with the ids, so that it is found by halving.
bool events_before(struct tx *tx, pawl_time time, int64_t *id, struct pawl_error *err)
{
    SCOPED(rows) struct rows newest = {0};
    int64_t low = 0, high = 0;  // one at `low` is before, if there is one; all after `high` are not
    if (!sql_ask_plain(tx, &newest, Q_AUDIT_NEWEST, err) || !rows_number(&newest, &high, err))
        return false;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2, found = 0;
        pawl_time at = 0;
        if (!event_from(tx, middle, &found, &at, err))
            return false;
        // defensive: there is one, for the newest is not before it
        if (found != 0 && at < time)
            low = found;
        else
            high = middle - 1;
    }
    *id = low;
    return true;
}
