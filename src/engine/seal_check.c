// The chain recomputed, seal by seal. One that does not fit is told, and the next is judged by what
// is stored of it: so one change is one finding, and not one for each seal that follows.
#include <stdio.h>
#include <string.h>

#include "engine/event.h"
#include "engine/seal.h"

enum {
    WHAT_BYTES_MAX = 200,
    PAGE_SEALS = 20,
    ROWS_MAX = 2 * SEAL_EVENTS_MAX,  // more events than that in one seal are no longer named
};

#define BEFORE_ALL INT64_MIN  // ids: somebody may put one in before the first

struct checking {
    const struct seal_check *check;
    struct seals_checked *checked;
    struct tx tx;
    struct seal last;     // the one before, as it is stored ...
    char last_hash[HASH_DIGITS + 1];  // ... and its hash
    int64_t total;
    struct seal pruned;   // the newest that was: events up to its newest may be gone
};

static void found(struct checking *c, int64_t seal, int64_t event, const char *what)
{
    c->checked->findings++;
    if (c->check->found)
        c->check->found(c->check->self, &(struct seal_finding){ seal, event, what });
}

// ----- the events of a seal

struct event_mark {
    int64_t id;
    char mark[SEAL_MARK_DIGITS];
};

struct present {
    struct event_mark at[ROWS_MAX];
    size_t count;
    bool more;
    char contents[HASH_DIGITS + 1];
};

// What stands between the seal before and the last id of this one.
static bool read_events(struct checking *c, const struct seal *seal, struct present *p,
                        struct pawl_error *err)
{
    struct sealed_event event;
    struct hash_sum sum;
    bool got = false;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&c->tx, &rows, Q_AUDIT_PAGE_AFTER, err, INT(c->last.last_id), INT(ROWS_MAX)))
        return false;
    sum_begin(&sum);
    p->count = 0;
    for (;;) {
        if (!sealed_event_next(&c->tx, &rows, &event, &got, err))
            return false;
        if (!got || event.id > seal->last_id)
            break;
        p->at[p->count].id = event.id;
        memcpy(p->at[p->count++].mark, event.hash, SEAL_MARK_DIGITS);
        sum_text(&sum, str_of(event.hash));
    }
    p->more = p->count == ROWS_MAX;
    sum_end(&sum, p->contents);
    return true;
}

static bool same_mark(const struct seal *seal, size_t place, const struct event_mark *event)
{
    return (place + 1) * SEAL_MARK_DIGITS <= seal->marks.n
        && memcmp(seal->marks.s + place * SEAL_MARK_DIGITS, event->mark, SEAL_MARK_DIGITS) == 0;
}

static void name_missing(struct checking *c, const struct seal *seal, int64_t after, int64_t before)
{
    char what[WHAT_BYTES_MAX];
    if (after == BEFORE_ALL)
        snprintf(what, sizeof what, "an event was removed, the first of all");
    else if (before)
        snprintf(what, sizeof what, "an event was removed between event %lld and event %lld",
                 (long long)after, (long long)before);
    else
        snprintf(what, sizeof what, "an event was removed after event %lld", (long long)after);
    found(c, seal->number, 0, what);
}

// An event that fits the place after this one: the one that belongs here is missing.
static bool after_gap(const struct seal *seal, const struct present *p, size_t place, size_t i)
{
    return p->count < (size_t)seal->events && same_mark(seal, place + 1, &p->at[i]);
}

static bool put_in(const struct seal *seal, const struct present *p, size_t place, size_t i)
{
    size_t places = (size_t)seal->events;
    return place >= places
        || (p->count > places && i + 1 < p->count && same_mark(seal, place, &p->at[i + 1]));
}

// Walks events and marks side by side. With as many as there should be each is judged in its place.
static void name_differences(struct checking *c, const struct seal *seal, const struct present *p)
{
    int64_t before = c->last.last_id, findings = c->checked->findings;
    size_t place = 0, i = 0;
    while (i < p->count || place < (size_t)seal->events) {
        int64_t id = i < p->count ? p->at[i].id : 0;
        if (i == p->count || after_gap(seal, p, place, i)) {
            name_missing(c, seal, before, id);
            place++;
            continue;
        }
        if (same_mark(seal, place, &p->at[i])) {
            place++;
        } else if (put_in(seal, p, place, i)) {
            found(c, seal->number, id, "the event was put in later");
        } else {
            found(c, seal->number, id, "the event was changed");
            place++;
        }
        before = id;
        i++;
    }
    if (c->checked->findings == findings)
        found(c, seal->number, 0, "the hash of its events is another");
}

static bool check_events(struct checking *c, const struct seal *seal, struct pawl_error *err)
{
    struct present present;
    if (!read_events(c, seal, &present, err))
        return false;
    bool fits = present.count == (size_t)seal->events
             && str_eq(str_of(present.contents), seal->contents);
    c->checked->events += (int64_t)present.count;
    if (present.more)
        found(c, seal->number, 0, "there are far more events than it has");
    else if (!fits)
        name_differences(c, seal, &present);
    for (size_t i = 0; fits && i < present.count; i++)
        if (!same_mark(seal, i, &present.at[i])) {
            found(c, seal->number, present.at[i].id, "the seal's mark of the event was changed");
            break;
        }
    return true;
}

// ----- one seal

// An event tells of it, unless that event has been pruned since.
static bool check_pruned(struct checking *c, const struct seal *seal, struct pawl_error *err)
{
    int64_t event = 0, first = 0;
    SCOPED(rows) struct rows told = {0}, left = {0};
    if (!sql_ask(&c->tx, &told, Q_AUDIT_OF_SUBJECT, err,
                 TEXT(seal_subject(c->tx.arena, seal->number)), INT(EVENT_AUDIT_PRUNED))
        || !rows_number(&told, &event, err)
        || !sql_ask(&c->tx, &left, Q_AUDIT_PAGE_AFTER, err, INT(c->last.last_id), INT(1))
        || !rows_number(&left, &first, err))
        return false;
    c->checked->pruned++;
    if (c->last.number > 0 && c->last.pruned_at == 0)
        found(c, seal->number, 0, "it was pruned before the seals before it");
    else if (event == 0
             && (seal->number == c->pruned.number || seal->pruned_at > c->pruned.newest_at))
        found(c, seal->number, 0, "its events are gone and no event tells that they were pruned");
    if (first != 0 && first <= seal->last_id)
        found(c, seal->number, first, "the event was put in after its seal was pruned");
    return true;
}

static bool check_seal(struct checking *c, const struct seal *seal, struct pawl_error *err)
{
    char hash[HASH_DIGITS + 1];
    seal_hash(seal, c->last.hash, hash);
    c->checked->seals++;
    if (seal->number != c->last.number + 1)
        found(c, c->last.number + 1, 0, "the seal was removed");
    else if (!str_eq(str_of(hash), seal->hash))
        found(c, seal->number, 0, "the seal, or the hash of the one before it, was changed");
    if (seal->pruned_at)
        return check_pruned(c, seal, err);
    // Without the seal before it nobody knows where its events begin.
    if (seal->number != c->last.number + 1)
        c->last.last_id = seal->first_id - 1;
    if (seal->events < 1 || seal->events > SEAL_EVENTS_MAX)
        return found(c, seal->number, 0, "it cannot have so many events"), true;
    return check_events(c, seal, err);
}

// ----- the chain

// What is kept of a seal for the next, which may be in another transaction.
static void remember(struct checking *c, const struct seal *seal)
{
    c->last = *seal;
    snprintf(c->last_hash, sizeof c->last_hash, "%.*s", STR(seal->hash));
    c->last.hash = str_of(c->last_hash);
    c->last.contents = c->last.marks = S("");
}

static bool check_seals(struct checking *c, size_t *count, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!seal_newest_pruned(&c->tx, &c->pruned, err)
        || !sql_ask(&c->tx, &rows, Q_SEALS_AFTER, err, INT(c->last.number), INT(PAGE_SEALS)))
        return false;
    for (*count = 0; rows_next(&rows); (*count)++) {
        struct seal seal;
        seal_read(&rows, &seal);
        if (!check_seal(c, &seal, err))
            return false;
        remember(c, &seal);
    }
    return rows_ok(&rows, err);
}

// What the page that ends the chain also looks at, in the same snapshot.
static bool check_end(struct checking *c, struct pawl_error *err)
{
    SCOPED(rows) struct rows unsealed = {0}, kept = {0};
    struct str head = c->check->head;
    int64_t seal = 0;
    if (!sql_ask(&c->tx, &unsealed, Q_AUDIT_UNSEALED, err, INT(c->last.last_id))
        || !rows_number(&unsealed, &c->checked->unsealed, err)
        || !sql_ask(&c->tx, &kept, Q_SEAL_OF_HASH, err, TEXT(head))
        || !rows_number(&kept, &seal, err))
        return false;
    if (head.n && seal == 0)
        found(c, 0, 0, "no seal has the hash that was kept: the chain was cut off or made anew");
    return true;
}

// One page is one read transaction: a few seals with all their events.
static bool check_page(struct checking *c, bool *more, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    size_t count = 0;
    bool done = tx_begin(c->tx.db, TX_READ, &arena, &c->tx, err) && check_seals(c, &count, err);
    *more = count == PAGE_SEALS;
    done = done && (*more || check_end(c, err)) && tx_commit(&c->tx, err);
    tx_end(&c->tx);
    if (done && c->check->progress)
        c->check->progress(c->check->self, c->checked->events, c->total);
    return done;
}

static bool count_events(struct checking *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows total = {0};
    return tx_begin(c->tx.db, TX_READ, &arena, &tx, err)
        && sql_ask_plain(&tx, &total, Q_SEALS_TOTAL, err) && rows_number(&total, &c->total, err);
}

bool seals_check(struct db *db, const struct seal_check *check, struct seals_checked *checked,
                 struct pawl_error *err)
{
    struct checking c = {
        .check = check,
        .checked = checked,
        .tx = { .db = db },
        .last = { .last_id = BEFORE_ALL },
    };
    bool more = true;
    *checked = (struct seals_checked){0};
    db_forget(db);  // what is remembered may differ from what is stored
    if (check->progress && !count_events(&c, err))
        return false;
    while (more)
        if (!check_page(&c, &more, err))
            return false;
    checked->head = c.last;
    snprintf(checked->head_hash, sizeof checked->head_hash, "%s", c.last_hash);
    checked->head.hash = str_of(checked->head_hash);
    return true;
}
