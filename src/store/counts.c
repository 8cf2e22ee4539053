// A small hash table of changes by org and queue. One is kept by the connection for the transaction
// that runs; folding and reading add the rows of `count_deltas` up in one of their own.
#include "store/counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/driver.h"

enum { FOLD_ROWS = 64,
       SLOTS_MIN = 64,
       KNOWN_MAX = 8,
       COUNTED = PLACES + FLOWS,
       NUMBERS = 2 + COUNTED };  // of an entry, in a row

static const char *const names[] = {
    [PLACE_READY] = "ready", [PLACE_DELAYED] = "delayed", [PLACE_BLOCKED] = "blocked",
    [PLACE_HELD] = "held",   [PLACE_BACKOFF] = "backoff", [PLACE_RUNNING] = "running",
};
_Static_assert(countof(names) == PLACES, "one name per place");

const char *queue_place_name(enum queue_place place)
{
    assert(place < PLACES);
    return names[place];
}

struct entry {
    int64_t org, queue;
    int64_t period;      // of the flows; 0: of any, or one that does not count any more
    int64_t n[COUNTED];  // the places, then the flows
};

// The entries in the order they came, and where each is found. Slots hold the number of an entry
// plus one; at most half of them are taken.
struct sums {
    struct entry *entries;
    uint32_t *slots;
    size_t count, slot_count;
};

struct counts {
    struct sums gathered;
    size_t last;  // the entry that was changed last: mostly it is the next one too
    // Queues whose waiting jobs somebody asked for in this transaction.
    struct {
        int64_t queue, waiting;
    } known[KNOWN_MAX];
    size_t known_count;
    bool fold_due;  // the row that was appended last is the one after which they are added up
};

// ----- sums

static void sums_end(struct sums *sums)
{
    free(sums->entries);
    free(sums->slots);
    *sums = (struct sums){0};
}

// The slot of the entry, or the free one where it belongs.
static uint32_t *slot_of(const struct sums *sums, int64_t org, int64_t queue, int64_t period)
{
    uint64_t hash = ((uint64_t)org * 0x9e3779b97f4a7c15u)
                  ^ ((uint64_t)(queue + period) * 0xc2b2ae3d27d4eb4fu);
    size_t mask = sums->slot_count - 1;
    for (size_t i = (size_t)(hash >> 32) & mask;; i = (i + 1) & mask) {
        uint32_t number = sums->slots[i];
        const struct entry *e = number ? &sums->entries[number - 1] : NULL;
        if (!e || (e->org == org && e->queue == queue && e->period == period))
            return &sums->slots[i];
    }
}

static bool sums_grow(struct sums *sums)
{
    size_t slot_count = sums->slot_count ? 2 * sums->slot_count : SLOTS_MIN;
    struct entry *entries = calloc(slot_count / 2, sizeof *entries);
    uint32_t *slots = entries ? calloc(slot_count, sizeof *slots) : NULL;
    if (!slots) {
        free(entries);
        return false;
    }
    if (sums->entries)
        memcpy(entries, sums->entries, sums->count * sizeof *entries);
    free(sums->entries);
    free(sums->slots);
    sums->entries = entries;
    sums->slots = slots;
    sums->slot_count = slot_count;
    for (size_t i = 0; i < sums->count; i++)
        *slot_of(sums, entries[i].org, entries[i].queue, entries[i].period) = (uint32_t)(i + 1);
    return true;
}

// The entry of an org, queue and period, made when it is new; NULL: no memory.
static struct entry *sums_entry(struct sums *sums, int64_t org, int64_t queue, int64_t period)
{
    if (sums->count == sums->slot_count / 2 && !sums_grow(sums))
        return NULL;
    assert(sums->entries);
    uint32_t *slot = slot_of(sums, org, queue, period);
    if (*slot == 0) {
        sums->entries[sums->count] = (struct entry){ .org = org, .queue = queue, .period = period };
        *slot = (uint32_t)++sums->count;
    }
    return &sums->entries[*slot - 1];
}

static bool sums_add(struct sums *sums, const struct entry *added)
{
    struct entry *e = sums_entry(sums, added->org, added->queue, added->period);
    for (size_t i = 0; e && i < COUNTED; i++)
        e->n[i] += added->n[i];
    return e != NULL;
}

static bool changes_nothing(const struct entry *e)
{
    for (size_t i = 0; i < COUNTED; i++)
        if (e->n[i] != 0)
            return false;
    return true;
}

// ----- gathering

struct counts *counts_new(void)
{
    return calloc(1, sizeof(struct counts));
}

void counts_free(struct counts *counts)
{
    if (counts)
        sums_end(&counts->gathered);
    free(counts);
}

void counts_drop(struct counts *counts)
{
    struct sums *sums = &counts->gathered;
    if (sums->count > 0)
        memset(sums->slots, 0, sums->slot_count * sizeof *sums->slots);
    sums->count = counts->last = counts->known_count = 0;
}

static void note_known(struct counts *counts, int64_t queue, enum queue_place place, int64_t change)
{
    for (size_t i = 0; i < counts->known_count; i++)
        if (counts->known[i].queue == queue && place != PLACE_RUNNING)
            counts->known[i].waiting += change;
}

static void gather(struct tx *tx, int64_t org, int64_t queue, size_t number, int64_t change)
{
    struct counts *counts = tx->db->counts;
    struct sums *sums = &counts->gathered;
    struct entry *e = counts->last < sums->count ? &sums->entries[counts->last] : NULL;
    if (!e || e->org != org || e->queue != queue)
        e = sums_entry(sums, org, queue, 0);
    if (!e) {
        tx->arena->failed = true;
        return;
    }
    counts->last = (size_t)(e - sums->entries);
    e->n[number] += change;
}

void tx_count(struct tx *tx, int64_t org, int64_t queue, enum queue_place place, int64_t change)
{
    gather(tx, org, queue, place, change);
    note_known(tx->db->counts, queue, place, change);
}

void tx_flow(struct tx *tx, int64_t org, int64_t queue, enum queue_flow flow)
{
    gather(tx, org, queue, (size_t)PLACES + flow, 1);
}

// ----- rows

// Writes a number backwards, so that its last digit stands before `end`. Answers where it begins.
// By hand, for it is in the way of every commit.
static char *write_number(char *end, int64_t number)
{
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--end = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--end = '-';
    return end;
}

static void pack_entry(struct buf *text, const struct entry *e)
{
    char row[NUMBERS * 24], *end = row + sizeof row, *at = end;
    *--at = ']';
    for (size_t i = COUNTED; i > 0; i--) {
        at = write_number(at, e->n[i - 1]);
        *--at = ',';
    }
    at = write_number(at, e->queue);
    *--at = ',';
    at = write_number(at, e->org);
    *--at = '[';
    buf_add_char(text, text->n ? ',' : '[');
    buf_add(text, (struct str){ at, (size_t)(end - at) });
}

static struct str pack(struct arena *arena, const struct sums *sums)
{
    struct buf text = buf_new(arena, SIZE_MAX / 2);
    for (size_t i = 0; i < sums->count; i++)
        if (!changes_nothing(&sums->entries[i]))
            pack_entry(&text, &sums->entries[i]);
    if (text.n > 0)
        buf_add_char(&text, ']');
    return buf_str(&text);
}

// The next number of a row; false at its end.
static bool next_number(struct str *text, int64_t *number)
{
    size_t i = 0;
    while (i < text->n && text->s[i] != '-' && (text->s[i] < '0' || text->s[i] > '9'))
        i++;
    bool negative = i < text->n && text->s[i] == '-';
    i += negative;
    uint64_t value = 0;
    bool found = false;
    for (; i < text->n && text->s[i] >= '0' && text->s[i] <= '9'; i++, found = true)
        value = value * 10 + (uint64_t)(text->s[i] - '0');
    *number = (int64_t)(negative ? 0 - value : value);
    *text = (struct str){ text->s + i, text->n - i };
    return found;
}

// What of the rows is wanted: of which org, and whether all orgs together are wanted as org 0.
struct wanted {
    bool every_org, together;
    int64_t org;
    bool by_period;  // else flows are weighed, and all periods are one
    pawl_time now;
};

static bool add_entry(struct sums *sums, const struct wanted *wanted, struct entry *e)
{
    int64_t weight = flow_weight(e->period, wanted->now);
    for (size_t i = PLACES; !wanted->by_period && i < COUNTED; i++)
        e->n[i] *= weight;
    if (!wanted->by_period || weight == 0)
        e->period = 0;
    if ((wanted->every_org || (!wanted->together && e->org == wanted->org)) && !sums_add(sums, e))
        return false;
    e->org = 0;
    return !wanted->together || sums_add(sums, e);
}

static bool add_row(struct sums *sums, const struct wanted *wanted, struct str text,
                    int64_t period, struct pawl_error *err)
{
    int64_t numbers[NUMBERS];
    size_t n = 0;
    while (next_number(&text, &numbers[n])) {
        if (++n < NUMBERS)
            continue;
        struct entry e = { .org = numbers[0], .queue = numbers[1], .period = period };
        memcpy(e.n, numbers + 2, sizeof e.n);
        if (!add_entry(sums, wanted, &e))
            return fail(err, PAWL_NO_MEMORY, "no memory to add up the numbers of jobs");
        n = 0;
    }
    return n == 0 || fail(err, PAWL_DAMAGED, "a row of count_deltas is damaged; run `pawl verify`");
}

static bool add_rows(struct tx *tx, const struct wanted *wanted, struct sums *sums,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_COUNT_DELTAS, err))
        return false;
    while (rows_next(&rows)) {
        struct str changes = row_text(&rows);
        if (!add_row(sums, wanted, changes, row_int(&rows), err))
            return false;
    }
    return rows_ok(&rows, err);
}

// ----- folding

// In one order, so that two who fold at once cannot wait for each other.
static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->org != b->org)
        return a->org < b->org ? -1 : 1;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    return (a->period > b->period) - (a->period < b->period);
}

static void sort(struct sums *sums)
{
    if (sums->count > 0)
        qsort(sums->entries, sums->count, sizeof *sums->entries, compare);
}

// Also when the changes add up to nothing: the row says that the org has used the queue.
static bool fold_entry(struct tx *tx, const struct entry *e, struct pawl_error *err)
{
    const int64_t *flows = e->n + PLACES;
    bool flowed = e->period && (flows[FLOW_ENQUEUED] || flows[FLOW_ENDED]);
    return sql_run(tx, Q_QUEUE_COUNT_ADD, err, INT(e->org), INT(e->queue), INT(e->n[PLACE_READY]),
                   INT(e->n[PLACE_DELAYED]), INT(e->n[PLACE_BLOCKED]), INT(e->n[PLACE_HELD]),
                   INT(e->n[PLACE_BACKOFF]), INT(e->n[PLACE_RUNNING]))
        && (!flowed || flow_add(tx, e->org, e->queue, e->period, flows, err));
}

static bool fold(struct tx *tx, struct pawl_error *err)
{
    SCOPED(sums) struct sums sums = {0};
    struct wanted wanted = { .every_org = true, .together = true, .by_period = true };
    wanted.now = tx->now;
    if (!add_rows(tx, &wanted, &sums, err))
        return false;
    sort(&sums);
    for (size_t i = 0; i < sums.count; i++)
        if (!fold_entry(tx, &sums.entries[i], err))
            return false;
    return db_run(tx, Q_COUNT_DELTAS_DELETE, NULL, 0, NULL, err);
}

bool counts_append(struct tx *tx, struct rows *appended, struct pawl_error *err)
{
    struct counts *counts = tx->db->counts;
    if (counts->gathered.count == 0)
        return true;
    struct str changes = pack(tx->arena, &counts->gathered);
    counts_drop(counts);
    return changes.n == 0
        || sql_ask(tx, appended, Q_COUNT_DELTA_INSERT, err, TEXT(changes),
                   INT(flow_period(tx->now)));
}

// Folding leaves no rows, so on SQLite the number of a row is how many there are by then.
bool counts_appended(struct tx *tx, struct rows *appended, struct pawl_error *err)
{
    int64_t id = 0;
    if (!appended->statement)
        return true;
    if (!rows_number(appended, &id, err))
        return false;
    rows_end(appended);
    tx->db->counts->fold_due = id % FOLD_ROWS == 0;
    return true;
}

bool counts_fold_due(struct tx *tx, struct pawl_error *err)
{
    bool due = tx->db->counts->fold_due;
    tx->db->counts->fold_due = false;
    return !due || fold(tx, err);
}

bool counts_settle(struct tx *tx, struct pawl_error *err)
{
    SCOPED(rows) struct rows appended = {0};
    return counts_append(tx, &appended, err) && counts_appended(tx, &appended, err)
        && counts_fold_due(tx, err);
}

// ----- reading

static bool add_stored(struct tx *tx, int64_t org, struct sums *sums, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_QUEUE_COUNTS_OF_ORG, err, INT(org)))
        return false;
    while (rows_next(&rows)) {
        struct entry e = { .org = org, .queue = row_int(&rows) };
        for (size_t i = 0; i < PLACES; i++)
            e.n[i] = row_int(&rows);
        if (!sums_add(sums, &e))
            return fail(err, PAWL_NO_MEMORY, "no memory to add up the numbers of jobs");
    }
    return rows_ok(&rows, err);
}

static bool add_flows(struct tx *tx, const struct wanted *wanted, struct sums *sums,
                      struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_QUEUE_FLOWS_OF_ORG, err, INT(wanted->org)))
        return false;
    while (rows_next(&rows)) {
        struct entry e = { .org = wanted->org, .queue = row_int(&rows) };
        e.period = row_int(&rows);
        for (size_t i = PLACES; i < COUNTED; i++)
            e.n[i] = row_int(&rows);
        // defensive: a queue with flows has its numbers, whose entry is there already
        if (!add_entry(sums, wanted, &e))
            return fail(err, PAWL_NO_MEMORY, "no memory to add up the numbers of jobs");
    }
    return rows_ok(&rows, err);
}

bool counts_of_org(struct tx *tx, int64_t org, struct queue_count **counts, size_t *count,
                   struct pawl_error *err)
{
    SCOPED(sums) struct sums sums = {0};
    struct wanted wanted = { .org = org, .together = org == 0, .now = tx->now };
    if (!counts_settle(tx, err) || !add_stored(tx, org, &sums, err)
        || !add_flows(tx, &wanted, &sums, err) || !add_rows(tx, &wanted, &sums, err))
        return false;
    *counts = arena_new(tx->arena, struct queue_count, sums.count);
    if (!*counts)
        return fail(err, PAWL_NO_MEMORY, "no memory to add up the numbers of jobs");
    sort(&sums);
    for (size_t i = 0; i < sums.count; i++) {
        struct queue_count *one = &(*counts)[i];
        const int64_t *n = sums.entries[i].n;
        one->queue = sums.entries[i].queue;
        memcpy(one->at, n, sizeof one->at);
        for (size_t flow = 0; flow < FLOWS; flow++)
            one->a_minute[flow] = (n[PLACES + flow] + FLOW_WHOLE / 2) / FLOW_WHOLE;
    }
    *count = sums.count;
    return true;
}

static bool look_up_waiting(struct tx *tx, int64_t queue, int64_t *waiting,
                            struct pawl_error *err)
{
    struct queue_count *all = NULL;
    size_t count = 0;
    *waiting = 0;
    if (!counts_of_org(tx, 0, &all, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t place = 0; all[i].queue == queue && place < PLACE_RUNNING; place++)
            *waiting += all[i].at[place];
    return true;
}

bool count_waiting(struct tx *tx, int64_t queue, int64_t *waiting, struct pawl_error *err)
{
    struct counts *counts = tx->db->counts;
    for (size_t i = 0; i < counts->known_count; i++)
        if (counts->known[i].queue == queue) {
            *waiting = counts->known[i].waiting;
            return true;
        }
    if (!look_up_waiting(tx, queue, waiting, err))
        return false;
    if (counts->known_count < KNOWN_MAX) {
        counts->known[counts->known_count].queue = queue;
        counts->known[counts->known_count++].waiting = *waiting;
    }
    return true;
}
