// A buffer per connection, emptied when a transaction begins and told after it committed.
#include "store/observe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/driver.h"
#include "store/names.h"

enum { MARKS_MAX = 8, MEMO = 16, EVENTS_KEPT = 1024 };

// What there was when a part of the transaction began.
struct mark {
    size_t count, ready_count;
    bool ready_many, incomplete;
};

struct observations {
    const struct observers *observers;
    struct observation *events;
    size_t count, capacity;
    struct arena texts;  // of the jobs that alerts are about
    struct observed_ready ready[OBSERVED_READY_MAX];
    size_t ready_count;
    bool ready_many, incomplete, limit_free;
    size_t limited[LIMIT_SCOPES][LIMIT_WAYS];
    struct mark marks[MARKS_MAX];
    size_t depth;
};

void observers_add(struct observers *observers, observer tell, void *self)
{
    size_t count = observers->count;
    assert(count < OBSERVERS_MAX);
    observers->all[count].tell = tell;
    observers->all[count].self = self;
    observers->count = count + 1;
}

struct observations *observations_new(void)
{
    return calloc(1, sizeof(struct observations));
}

void observations_free(struct observations *observations)
{
    if (!observations)
        return;
    arena_end(&observations->texts);
    free(observations->events);
    free(observations);
}

// ----- noting

// Without memory the event is not told, and that is.
static struct observation *room(struct observations *o)
{
    if (o->count < o->capacity)
        return &o->events[o->count++];
    size_t capacity = o->capacity ? 2 * o->capacity : 64;
    struct observation *events = capacity <= OBSERVED_EVENTS_MAX
        ? reallocarray(o->events, capacity, sizeof *events)
        : NULL;
    if (!events) {
        o->incomplete = true;
        return NULL;
    }
    o->events = events;
    o->capacity = capacity;
    return &o->events[o->count++];
}

// Of the job it is about, if somebody must be told. Whoever notes it may have read the job into
// memory that is gone before the commit.
static void keep_texts(struct observations *o, struct observation *noted)
{
    struct str *texts[] = { &noted->project_id, &noted->request_id, &noted->correlation_id };
    for (size_t i = 0; i < countof(texts); i++)
        *texts[i] = noted->alert == ALERT_NONE ? S("") : str_dup(&o->texts, *texts[i]);
}

void observe_event(struct tx *tx, const struct observation *observation)
{
    assert(tx->observed);
    struct observation *noted = room(tx->observed);
    if (!noted)
        return;
    *noted = *observation;
    keep_texts(tx->observed, noted);
}

static bool is_noted(const struct observations *o, const struct observed_ready *ready)
{
    for (size_t i = o->ready_count; i > 0; i--)  // the newest is the likeliest
        if (o->ready[i - 1].type == ready->type && o->ready[i - 1].queue == ready->queue
            && o->ready[i - 1].org == ready->org)
            return true;
    return false;
}

void observe_ready(struct tx *tx, int64_t org, int64_t type, int64_t queue)
{
    struct observations *o = tx->observed;
    struct observed_ready ready = { .org = org, .type = type, .queue = queue };
    tx_has_news(tx, type);
    if (!o || o->ready_many || is_noted(o, &ready))
        return;
    if (o->ready_count == OBSERVED_READY_MAX)
        o->ready_many = true;
    else
        o->ready[o->ready_count++] = ready;
}

void observe_limit_free(struct tx *tx)
{
    tx_has_news(tx, NEWS_ANY);
    if (tx->observed)
        tx->observed->limit_free = true;
}

void observe_limited(struct tx *tx, enum limit_scope scope, enum limit_way way)
{
    if (tx->observed)
        tx->observed->limited[scope][way]++;
}

// ----- transactions and their parts

// A transaction of thousands is rare: its memory is not kept for the next one.
static void empty(struct observations *o)
{
    if (o->capacity > EVENTS_KEPT) {
        free(o->events);
        o->events = NULL;
        o->capacity = 0;
    }
    arena_reset(&o->texts);
    o->count = o->ready_count = o->depth = 0;
    o->ready_many = o->incomplete = o->limit_free = false;
    memset(o->limited, 0, sizeof o->limited);
}

void observe_begin(struct tx *tx, const struct observers *observers)
{
    if (!observers || observers->count == 0)
        return;
    tx->observed = tx->db->observations;
    tx->observed->observers = observers;
    empty(tx->observed);
}

void observe_mark(struct tx *tx)
{
    struct observations *o = tx->observed;
    if (!o)
        return;
    assert(o->depth < MARKS_MAX);
    o->marks[o->depth++] = (struct mark){ o->count, o->ready_count, o->ready_many, o->incomplete };
}

void observe_keep(struct tx *tx)
{
    if (tx->observed)
        tx->observed->depth--;
}

void observe_take_back(struct tx *tx)
{
    struct observations *o = tx->observed;
    if (!o)
        return;
    const struct mark *mark = &o->marks[--o->depth];
    o->count = mark->count;
    o->ready_count = mark->ready_count;
    o->ready_many = mark->ready_many;
    o->incomplete = mark->incomplete;
}

// ----- telling

// The names of one transaction are few and asked for again and again.
struct memo {
    int64_t id;
    struct str text;
};

// A name that cannot be read stays empty: what was done is not refused because of it.
static struct str text_of(struct tx *tx, enum name_kind kind, int64_t id, struct memo *memos)
{
    struct memo *memo = &memos[(uint64_t)id % MEMO];
    if (id == 0)  // defensive: what is told is of jobs, and each has an org, a type and a queue
        return S("");
    if (memo->id != id)
        *memo = name_text(tx, kind, id, &memo->text, NULL) ? (struct memo){ id, memo->text }
                                                           : (struct memo){0};
    return memo->text;
}

void observe_settle(struct tx *tx)
{
    struct memo memos[NAME_KINDS][MEMO] = {0};
    struct observations *o = tx->observed;
    for (size_t i = 0; o && i < o->count; i++) {
        struct observation *event = &o->events[i];
        event->org_id = text_of(tx, NAME_ORG, event->org, memos[NAME_ORG]);
        event->job_type = text_of(tx, NAME_JOB_TYPE, event->type, memos[NAME_JOB_TYPE]);
        event->queue_name = text_of(tx, NAME_QUEUE, event->queue, memos[NAME_QUEUE]);
    }
    for (size_t i = 0; o && i < o->ready_count; i++) {
        struct observed_ready *ready = &o->ready[i];
        ready->org_id = text_of(tx, NAME_ORG, ready->org, memos[NAME_ORG]);
        ready->job_type = text_of(tx, NAME_JOB_TYPE, ready->type, memos[NAME_JOB_TYPE]);
        ready->queue_name = text_of(tx, NAME_QUEUE, ready->queue, memos[NAME_QUEUE]);
    }
}

static void tell(const struct observers *observers, const struct observed *observed)
{
    size_t count = observers->count;
    for (size_t i = 0; i < count; i++)
        observers->all[i].tell(observers->all[i].self, observed);
}

void observe_tell(struct tx *tx, int64_t commit_us)
{
    const struct observations *o = tx->observed;
    struct observed observed = {
        .at = tx->now,
        .events = o->events,
        .count = o->count,
        .ready = o->ready,
        .ready_count = o->ready_count,
        .ready_many = o->ready_many,
        .incomplete = o->incomplete,
        .limit_free = o->limit_free,
        .operations = tx->operations,
        .commit_us = commit_us,
    };
    memcpy(observed.limited, o->limited, sizeof observed.limited);
    tell(o->observers, &observed);
}

// Whether it happened is found out after the store was opened again, when the notes are gone.
void observe_doubt(struct tx *tx)
{
    struct observed observed = {
        .at = tx->now,
        .ready_many = true,
        .incomplete = true,
        .operations = tx->operations,
        .commit_us = -1,
    };
    if (tx->observed)
        tell(tx->observed->observers, &observed);
}
