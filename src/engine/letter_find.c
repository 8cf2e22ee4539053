// Looking at letters: a walk over the open ones, newest first, by an index that has no others, and
// without reading a payload. Fingerprints are made while reading: writers pay nothing for them, and
// what one is, only one function says.
#include <stdlib.h>

#include "base/list.h"
#include "engine/letter.h"
#include "model/fingerprint.h"

enum { PIECE = 500,            // rows that are read at once
       ROWS_MAX = 5000,        // that are looked at in all
       GROUPS_MAX = 200,
       PAGE_MAX = 500,
       PAGE_BYTES_MAX = 4 << 20 };  // of payloads; one letter more may pass it

struct row {
    struct letter letter;
    struct str job_type, queue, project_id, message;
};

static void read_row(struct rows *rows, struct row *row)
{
    struct letter *letter = &row->letter;
    letter->id.high = row_int(rows);
    letter->id.low = row_int(rows);
    row->job_type = row_text(rows);
    row->queue = row_text(rows);
    row->project_id = row_text(rows);
    letter->at = row_int(rows);
    struct str failure_type = row_text(rows), class = row_text(rows);
    letter->kind = class.n ? class : failure_type;
    row->message = row_text(rows);
}

// Half of what a row costs, so it is not done for those that do not fit anyway.
static void describe(struct arena *arena, struct row *row)
{
    struct letter *letter = &row->letter;
    letter->pattern = error_pattern(arena, row->message);
    letter->fingerprint = fingerprint(arena, row->job_type, letter->kind, letter->pattern);
}

static bool text_fits(struct str wanted, struct str actual)
{
    return wanted.n == 0 || str_eq(wanted, actual);
}

static bool fits(const struct tx *tx, const struct letter_filter *filter, struct row *row)
{
    if (!caller_sees(tx->caller, row->project_id) || !text_fits(filter->job_type, row->job_type)
        || !text_fits(filter->queue, row->queue))
        return false;
    describe(tx->arena, row);
    return text_fits(filter->fingerprint, row->letter.fingerprint);
}

// ----- the walk

struct walk {
    const struct letter_filter *filter;
    int64_t org;
    int64_t before;   // the row that was looked at last
    int64_t left;     // rows that may still be looked at
    bool ended;       // there are no more
    // Whether it wants more; a row lives as long as the call.
    bool (*visit)(void *self, const struct row *row);
    void *self;
};

static bool walk_piece(struct tx *tx, struct walk *walk, struct pawl_error *err)
{
    int64_t seen = 0, limit = walk->left < PIECE ? walk->left : PIECE;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_LETTER_PAGE, err, INT(walk->org), INT(walk->before), INT(limit)))
        return false;
    bool wants = true;
    while (wants && rows_next(&rows)) {
        struct row row = {0};
        read_row(&rows, &row);
        walk->before = row.letter.id.high;
        seen++;
        if (fits(tx, walk->filter, &row))
            wants = walk->visit(walk->self, &row);
    }
    walk->ended = wants && seen < limit;
    walk->left = wants ? walk->left - seen : 0;
    return rows_ok(&rows, err);
}

// Rows are read into memory of their own, so that what does not fit costs nothing for long.
static bool walk_all(struct tx *tx, struct walk *walk, struct pawl_error *err)
{
    struct arena *arena = tx->arena;
    SCOPED(arena) struct arena scratch = {0};
    walk->before = walk->filter->before ? walk->filter->before : INT64_MAX;
    if (!caller_org(tx, &walk->org, err))
        return false;
    bool done = true;
    while (done && walk->left > 0 && !walk->ended) {
        arena_reset(&scratch);
        tx->arena = &scratch;
        done = walk_piece(tx, walk, err)
            && (!scratch.failed || fail(err, PAWL_NO_MEMORY, "no memory to list dead letters"));
        tx->arena = arena;
    }
    return done;
}

// ----- a list

struct matching {
    struct list found;  // struct letter
    size_t limit;
};

static void keep_texts(struct arena *arena, struct letter *letter)
{
    letter->kind = str_dup(arena, letter->kind);
    letter->pattern = str_dup(arena, letter->pattern);
    letter->fingerprint = str_dup(arena, letter->fingerprint);
}

static bool match(void *self, const struct row *row)
{
    struct matching *m = self;
    struct letter *letter = list_add(&m->found);
    if (!letter)
        return false;
    *letter = row->letter;
    keep_texts(m->found.arena, letter);
    return m->found.count < m->limit;
}

bool letters_match(struct tx *tx, const struct letter_filter *filter, struct letter_list *list,
                   struct pawl_error *err)
{
    struct matching m = { list_of(tx->arena, sizeof(struct letter)), PAGE_MAX };
    struct walk walk = { .filter = filter, .left = ROWS_MAX, .visit = match, .self = &m };
    if (filter->limit > 0 && filter->limit < PAGE_MAX)
        m.limit = (size_t)filter->limit;
    if (!walk_all(tx, &walk, err))
        return false;
    *list = (struct letter_list){
        .letters = m.found.items,
        .count = m.found.count,
        .next = walk.ended ? 0 : walk.before,
    };
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to list dead letters");
}

bool letters_find(struct tx *tx, const struct letter_filter *filter, struct letter_list *list,
                  struct pawl_error *err)
{
    size_t bytes = 0, kept = 0, i = 0;
    int64_t last = 0;
    if (!letters_match(tx, filter, list, err))
        return false;
    for (; i < list->count && bytes < PAGE_BYTES_MAX; i++) {
        struct letter letter = list->letters[i];
        const char *problem = NULL;
        if (!job_examine(tx, letter.id.high, &letter.job, &problem, err))
            return false;
        bytes += letter.job.contract.payload.n;
        list->damaged += problem != NULL;
        if (!problem)
            list->letters[kept++] = letter;
        last = letter.id.high;
    }
    if (i < list->count)
        list->next = last;
    list->count = kept;
    return true;
}

// ----- groups

struct grouping {
    struct list groups;  // struct letter_group
    int64_t letters;
    bool left_out;
};

static struct letter_group *group_of(struct grouping *g, const struct row *row)
{
    struct letter_group *groups = g->groups.items;
    for (size_t i = 0; i < g->groups.count; i++)
        if (str_eq(groups[i].fingerprint, row->letter.fingerprint))
            return &groups[i];
    struct letter_group *group = g->groups.count < GROUPS_MAX ? list_add(&g->groups) : NULL;
    if (!group)
        return NULL;
    struct letter letter = row->letter;
    keep_texts(g->groups.arena, &letter);
    *group = (struct letter_group){
        .fingerprint = letter.fingerprint,
        .job_type = str_dup(g->groups.arena, row->job_type),
        .kind = letter.kind,
        .pattern = letter.pattern,
        .newest_at = letter.at,
        .oldest_at = letter.at,
        .newest = letter.id,
    };
    return group;
}

// A job that was made earlier may have died later.
static bool count(void *self, const struct row *row)
{
    struct grouping *g = self;
    struct letter_group *group = group_of(g, row);
    g->letters++;
    g->left_out = g->left_out || !group;
    if (!group)
        return true;
    group->count++;
    if (row->letter.at < group->oldest_at)
        group->oldest_at = row->letter.at;
    if (row->letter.at > group->newest_at) {
        group->newest_at = row->letter.at;
        group->newest = row->letter.id;
    }
    return true;
}

static int larger_first(const void *left, const void *right)
{
    const struct letter_group *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return str_order(a->fingerprint, b->fingerprint);
}

bool letters_group(struct tx *tx, const struct letter_filter *filter,
                   struct letter_groups *groups, struct pawl_error *err)
{
    struct grouping g = { .groups = list_of(tx->arena, sizeof(struct letter_group)) };
    struct walk walk = { .filter = filter, .left = ROWS_MAX, .visit = count, .self = &g };
    if (!walk_all(tx, &walk, err))
        return false;
    if (g.groups.count)
        qsort(g.groups.items, g.groups.count, sizeof(struct letter_group), larger_first);
    *groups = (struct letter_groups){
        .groups = g.groups.items,
        .count = g.groups.count,
        .letters = g.letters,
        .more = !walk.ended || g.left_out,
    };
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to group dead letters");
}

// ----- one

static bool load_row(struct tx *tx, struct letter *letter, struct pawl_error *err)
{
    struct row row = {0};
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_LETTER_ROW, err, INT(letter->id.high)))
        return false;
    bool exists = rows_next(&rows);
    if (exists)
        read_row(&rows, &row);
    describe(tx->arena, &row);
    struct job job = letter->job;
    *letter = row.letter;
    letter->job = job;
    return rows_ok(&rows, err)
        && (exists
            || fail(err, PAWL_NOT_FOUND, "job %.*s is %s and no dead letter",
                    STR(id_text(tx->arena, job.id)), job_state_name(job.state)));
}

static bool load_successor(struct tx *tx, int64_t of, struct job *successor,
                           struct pawl_error *err)
{
    int64_t high = 0;
    SCOPED(rows) struct rows rows = {0};
    *successor = (struct job){0};
    return sql_ask(tx, &rows, Q_LETTER_SUCCESSOR, err, INT(of))
        && rows_number(&rows, &high, err)
        && (high == 0 || job_load_row(tx, high, successor, err));
}

static bool load_closing(struct tx *tx, struct letter_record *record, struct pawl_error *err)
{
    struct audit_event *events = NULL;
    size_t number = 0;
    if (!events_of_job(tx, record->letter.id.high, &events, &number, err))
        return false;
    for (size_t i = 0; i < number; i++)
        if (events[i].event == EVENT_JOB_LETTER_CLOSED)
            record->closing = events[i];
    return str_eq(record->letter.job.dead_letter, S("discarded"))
        || load_successor(tx, record->letter.id.high, &record->successor, err);
}

bool letter_load(struct tx *tx, struct id id, struct letter_record *record,
                 struct pawl_error *err)
{
    *record = (struct letter_record){ .letter.id = id };
    if (!job_load(tx, id, &record->letter.job, err) || !load_row(tx, &record->letter, err)
        || !executions_of_job(tx, id.high, &record->executions, &record->execution_count, err))
        return false;
    record->closed = !letter_open(&record->letter.job);
    return !record->closed || load_closing(tx, record, err);
}
