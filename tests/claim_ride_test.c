// A claim rides along with a commit that made a job ready, if it is one that somebody here can run.
#include "answers.h"
#include "shop.h"

#include "run/handle.h"

static bool do_nothing(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

// How many commits with a new job had nothing else in them.
struct ear {
    const char *job_type;
    _Atomic size_t alone, heard;
};

static void hear(void *self, const struct observed *observed)
{
    struct ear *ear = self;
    for (size_t i = 0; i < observed->ready_count; i++) {
        if (!str_eq(observed->ready[i].job_type, str_of(ear->job_type)))
            continue;
        ear->alone += observed->operations == 1;
        ear->heard++;
    }
}

TEST_SHOP(RUN_10_a_claim_rides_only_with_jobs_that_a_handler_here_can_run, .workers = 1)
{
    enum { JOBS = 20 };
    NEEDS_EVERY_ANSWER("who observes is not told of a commit in doubt");
    struct ear ours = { .job_type = "ours" }, theirs = { .job_type = "theirs" };
    shop_handle(shop, (struct pawl_handler){ .job_type = "ours", .prepare = do_nothing });
    pawl_observe(shop->pawl, hear, &ours);
    pawl_observe(shop->pawl, hear, &theirs);
    shop_start(shop);
    for (int i = 0; i < JOBS; i++) {
        shop_enqueue(shop, (struct pawl_job){ .job_type = "theirs" });
        struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "ours" });
        shop_wait(shop, &ticket);
    }
    EXPECT_INT(ours.heard, JOBS);
    EXPECT_INT(theirs.heard, JOBS);
    // A worker that has just ended a run may be asking by itself: then a job of ours has no claim
    // with it, or one of theirs has.
    EXPECT(theirs.alone > JOBS / 2);
    EXPECT(ours.alone < JOBS / 2);
    pawl_stop(shop->pawl, SECONDS(10));
}
