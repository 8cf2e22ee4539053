// Operations with memory of their own besides that of their transaction: which rehearsals leave
// alone. Whichever allocation fails, it is said, and not taken for something else.
#include "base/time_text.h"
#include "slots.h"

typedef bool operation(struct tx *tx, struct pawl_error *err);

static bool play(struct box *box, operation *run, int64_t n, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    tx.arena = &arena;
    rehearsal_arenas(n);
    return run(&tx, err) && !arena.failed;
}

// Nothing is committed. What is done is done right: the operation looks.
static void fail_each(struct box *box, operation *run)
{
    bool reached = true;
    int64_t n = 0;
    while (reached) {
        struct pawl_error err = {0};
        bool done = play(box, run, ++n, &err);
        reached = rehearsal_calm();
        EXPECT(done || (reached && (err.code == PAWL_NO_MEMORY || err.code == PAWL_OK)));
    }
    EXPECT(n > 2);
}

static bool find_jobs(struct tx *tx, struct pawl_error *err)
{
    struct job_list list;
    return job_find(tx, &(struct job_filter){ .limit = 10 }, &list, err)
        && (list.count == 2 || fail(err, PAWL_STORE, "a job is left out"));
}

TEST_EACH_DB(OPS_9_a_job_that_could_not_be_read_is_not_left_out_of_a_list)
{
    must_enqueue(box, "report");
    must_enqueue(box, "report");
    fail_each(box, find_jobs);
}

static bool put_nightly(struct tx *tx, struct pawl_error *err)
{
    struct schedule s = every_five_minutes();
    enum schedule_put what;
    s.every_us = 0;
    s.cron = S("0 3 * * *");
    s.timezone = S("Europe/Berlin");
    struct schedule_view view;
    pawl_time next = 0;
    return schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err)
        && schedule_load(tx, s.name, &view, err)
        && ((time_parse(S("2027-01-16T02:00:00Z"), &next) && view.next_at == next)
            || tx->arena->failed || fail(err, PAWL_STORE, "it is not due when it should be"));
}

// It was told as a time zone that is wrong, which nobody would try again.
TEST_EACH_DB(SLOT_a_zone_for_which_there_is_no_memory_is_not_a_wrong_term_of_a_schedule)
{
    fail_each(box, put_nightly);
}
