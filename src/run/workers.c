// Worker threads: take a run, perform it, take the next.
//
// The end of a run is answered on the writer's thread, which has better things to do than logging
// and freeing: ended runs are put aside, and whichever worker comes by next buries them.
#include <stdio.h>
#include <stdlib.h>

#include "run/runner.h"

// ----- burying

static const char *const words[] = {
    [RUN_END_COMMIT] = "succeeded", [RUN_END_DONE] = "succeeded", [RUN_END_FAIL] = "failed",
    [RUN_END_RELEASE] = "given back", [RUN_END_NOTHING] = "lost",
};

static void tell_end(struct pawl_run *run)
{
    struct journal *journal = &run->pawl->journal;
    bool written = run->ended_with == PAWL_OK && run->end != RUN_END_NOTHING;
    bool failed = run->failed && run->end != RUN_END_RELEASE;
    char took[48] = "", rows[48] = "";
    if (run->began)
        snprintf(took, sizeof took, " after %.3f s",
                 (double)(world_monotonic(run->pawl->world) - run->began) / 1e6);
    if (run->rows >= 0)
        snprintf(rows, sizeof rows, ", %lld rows", (long long)run->rows);
    if (!written)
        journal_write(journal, RUN_ENDED, &run->subject, "%s",
                      run->overdue ? "too late: it took longer than it may"
                                   : "lost: its lease is over");
    else if (failed)
        journal_write(journal, RUN_ENDED, &run->subject, "failed%s (%s): %.*s", took,
                      error_class_name(run->class), STR(run->message));
    else
        journal_write(journal, run->end == RUN_END_RELEASE ? RUN_RELEASED : RUN_ENDED,
                      &run->subject, "%s%s%s", words[run->end], took, rows);
}

static void keep_run(struct runner *r, struct pawl_run *run)
{
    enum { SPARE_MAX = 512 };
    if (r->spare_run_count >= SPARE_MAX) {
        arena_end(&run->arena);
        free(run);
        return;
    }
    arena_reset(&run->arena);
    run->next = r->spare_runs;
    r->spare_runs = run;
    r->spare_run_count++;
}

void workers_bury(struct runner *r)
{
    while (r->ended) {
        struct pawl_run *list = r->ended;
        r->ended = NULL;
        r->burying++;
        pthread_mutex_unlock(&r->mutex);
        for (struct pawl_run *run = list; run; run = run->next)
            tell_end(run);
        pthread_mutex_lock(&r->mutex);
        r->burying--;
        while (list) {
            struct pawl_run *next = list->next;
            keep_run(r, list);
            list = next;
        }
        pthread_cond_broadcast(&r->quiet);
    }
}

// ----- the threads

// A thread whose place was taken while its handler did not return. The last one out of a runner
// that was closed meanwhile takes it along.
static void leave(struct runner *r)
{
    r->threads--;
    bool last = r->closed && r->threads == 0;
    pthread_cond_broadcast(&r->quiet);
    pthread_mutex_unlock(&r->mutex);
    if (last)
        runner_free_last(r);
}

void *worker_main(void *self)
{
    struct runner *r = self;
    bool replaced = false;
    pthread_mutex_lock(&r->mutex);
    while (!r->closing && !replaced) {
        workers_bury(r);
        struct pawl_run *run = r->mode == RUNNER_WORKING ? claims_take(r) : NULL;
        if (run) {
            r->running++;
            pthread_mutex_unlock(&r->mutex);
            replaced = run_perform(run);
            pthread_mutex_lock(&r->mutex);
            continue;
        }
        r->idle++;
        claims_go_on(r);
        bool nothing = !r->ended && !r->closing
                    && (!r->batches || r->mode != RUNNER_WORKING);
        if (nothing)
            pthread_cond_wait(&r->work, &r->mutex);
        r->idle--;
    }
    leave(r);
    return NULL;
}

bool worker_spawn(struct runner *r)
{
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    bool made = pthread_create(&thread, &detached, worker_main, r) == 0;
    pthread_attr_destroy(&detached);
    r->threads += made;
    return made;
}
