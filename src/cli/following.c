// The bar is hidden before anything else is printed.
#include "cli/following.h"

#include <stdio.h>

#include "cli/output.h"

static void at_stage(void *self, enum copy_stage stage)
{
    struct following *f = self;
    progress_hide(&f->bar);
    f->bar.what = copy_stage_name(stage);
}

static void at_progress(void *self, int64_t done, int64_t total)
{
    progress_show(&((struct following *)self)->bar, done, total);
}

static void at_violation(void *self, const struct violation *violation)
{
    struct following *f = self;
    SCOPED(arena) struct arena arena = {0};
    progress_hide(&f->bar);
    fprintf(stderr, "pawl: %s: %.*s\n", violation->invariant,
            STR(safe(&arena, violation->detail.n ? violation->detail : violation->job_id)));
}

struct copy_audience following_audience(struct following *following)
{
    return (struct copy_audience){ following, at_stage, at_progress, at_violation };
}
