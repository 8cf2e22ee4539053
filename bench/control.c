// The same rows, whatever the database.
#include "bench/control_inside.h"

#include <stdlib.h>

#include "bench/crew.h"
#include "bench/measure.h"
#include "store/store_url.h"

enum { ROW_BYTES = 200 };  // without its payload, at least

struct control {
    const struct control_kind *kind;
    const char *where;
    void *connection;
    struct str payload;
    struct id last;
};

static void next_row(struct id *last, struct control_row *row)
{
    row->now = world_wall(world_real());
    *last = id_after(last->high, row->now, (uint64_t)last->low * 0x9e3779b97f4a7c15 + 1);
    row->id = *last;
    id_format(*last, row->text);
}

static bool insert_batch(struct control *c, long rows, struct pawl_error *err)
{
    struct control_row row;
    if (!c->kind->execute(c->connection, c->kind->begin, err))
        return false;
    for (long i = 0; i < rows; i++) {
        next_row(&c->last, &row);
        if (!c->kind->insert(c->connection, &row, c->payload, err))
            return false;
    }
    return c->kind->execute(c->connection, "COMMIT", err);
}

bool control_insert(struct control *c, long rows, struct pawl_error *err)
{
    for (long left = rows; left > 0; left -= CONTROL_BATCH)
        if (!insert_batch(c, left < CONTROL_BATCH ? left : CONTROL_BATCH, err))
            return false;
    return true;
}

bool control_commit_one(struct control *c, struct pawl_error *err)
{
    return insert_batch(c, 1, err);
}

// ----- many connections

struct inserter {
    struct member member;
    struct control control;
    long rows;
};

static void *insert_singly(void *self)
{
    struct inserter *i = self;
    struct control_row row;
    i->member.error.code = PAWL_OK;
    for (long left = i->rows; left > 0; left--) {
        next_row(&i->control.last, &row);
        if (!i->control.kind->insert(i->control.connection, &row, i->control.payload,
                                     &i->member.error))
            return NULL;
    }
    return NULL;
}

static bool join(struct control *c, struct inserter *all, long count, long rows,
                 struct pawl_error *err)
{
    for (long i = 0; i < count; i++) {
        all[i].control = *c;
        all[i].control.connection = NULL;
        all[i].control.last.high += (i + 1) << 40;  // a range of its own
        all[i].rows = rows / count;
        if (!c->kind->open(&all[i].control.connection, c->where, false, err))
            return false;
    }
    return true;
}

bool control_crowd(struct control *c, long count, long rows, double *seconds,
                   struct pawl_error *err)
{
    struct inserter *all = calloc((size_t)count, sizeof *all);
    if (!all)
        return fail(err, PAWL_NO_MEMORY, "no memory for %ld connections", count);
    bool done = join(c, all, count, rows, err);
    double start = seconds_now();
    done = done && crew_work(all, sizeof *all, count, insert_singly, err);
    *seconds = seconds_now() - start;
    for (long i = 0; i < count; i++)
        c->kind->close(all[i].control.connection, false);
    c->last.high += (count + 2) << 40;
    free(all);
    return done;
}

// ----- opening

bool control_open(struct control **control, const char *where, struct str payload,
                  struct pawl_error *err)
{
    struct control *c = calloc(1, sizeof *c);
    *control = c;
    if (!c)
        return fail(err, PAWL_NO_MEMORY, "no memory for the control");
    c->kind = url_names_server(str_of(where)) ? &control_postgres : &control_sqlite;
    c->where = where;
    c->payload = payload;
    return c->kind->open(&c->connection, where, true, err)
        && control_insert(c, c->kind->warm_up_bytes / ((long)payload.n + ROW_BYTES), err);
}

void control_close(struct control *c)
{
    if (!c)
        return;
    c->kind->close(c->connection, true);
    free(c);
}
