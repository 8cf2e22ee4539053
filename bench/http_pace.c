// An open loop: a request is due when the clock says so, whatever became of the one before it, and
// its time counts from then. A server that stalls for a moment is late for all that were due
// meanwhile, as it is for people. So is the machine: a few milliseconds in which it does something
// else make a dozen requests late, and one commit of those that are made one after the other. The
// control therefore keeps the same pace for the same time, and counts in the same way.
#include <sys/prctl.h>

#include "bench/crew.h"
#include "bench/http_parts.h"
#include "bench/measure.h"

enum { CONNECTIONS = 8, PACE_PER_S = 1000, POSTS_MAX = 5000, COMMITS_MAX = 2000 };

struct pace {
    double start;  // when the first is due
    long posts;
    double *took_us;
};

struct pacer {
    struct member member;
    struct http_client client;
    struct arena arena;  // of one request
    struct str payload;
    const struct pace *pace;
    long place;          // it sends this one, and every CONNECTIONS-th after it
    long first;          // the number of the job that is due first
};

static void wait_until(double time)
{
    double left = time - seconds_now();
    if (left > 0)
        world_sleep(world_real(), (int64_t)(left * 1e6));
}

// Else the kernel wakes the thread late, and what it measures is blamed.
static void be_woken_in_time(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
}

static void *keep_pace(void *self)
{
    struct pacer *p = self;
    const struct pace *pace = p->pace;
    struct http_answer answer;
    be_woken_in_time();
    for (long i = p->place; i < pace->posts; i += CONNECTIONS) {
        double due = pace->start + (double)i / PACE_PER_S;
        arena_reset(&p->arena);
        struct str body = http_job(&p->arena, "bench.run", p->payload, p->first + i);
        wait_until(due);
        if (!http_client_ask(&p->client, "POST /v1/jobs", body, 201, &answer, &p->member.error))
            return NULL;
        pace->took_us[i] = (seconds_now() - due) * 1e6;
    }
    return NULL;
}

static bool pace_once(struct http_stand *s, struct pacer *pacers, struct pace pace,
                      struct pawl_error *err)
{
    enum { START_MS = 20 };  // until all threads are there
    pace.start = seconds_now() + START_MS / 1e3;
    for (long i = 0; i < CONNECTIONS; i++) {
        pacers[i].pace = &pace;
        pacers[i].place = i;
        pacers[i].first = s->made;
    }
    s->made += pace.posts;
    return crew_work(pacers, sizeof *pacers, CONNECTIONS, keep_pace, err);
}

// One connection commits one row after the other: where the disk takes longer than the pace allows,
// it would only ever fall behind. It is asked for half of what the disk can do at most.
static double pace_of_commits(double commit_us)
{
    double half = 0.5e6 / commit_us;
    return half < PACE_PER_S ? half : PACE_PER_S;
}

static bool commit_at_pace(struct control *control, double *took_us, long commits, double per_s,
                           struct pawl_error *err)
{
    be_woken_in_time();
    double start = seconds_now();
    for (long i = 0; i < commits; i++) {
        double due = start + (double)i / per_s;
        wait_until(due);
        if (!control_commit_one(control, err))
            return false;
        took_us[i] = (seconds_now() - due) * 1e6;
    }
    return true;
}

// From rest, as a request begins.
static bool commit_once(struct control *control, double *took_us, long commits,
                        struct pawl_error *err)
{
    for (long i = 0; i < commits; i++) {
        world_sleep(world_real(), RUNS_PAUSE_US);
        double start = seconds_now();
        if (!control_commit_one(control, err))
            return false;
        took_us[i] = (seconds_now() - start) * 1e6;
    }
    return true;
}

// Of each turn, and of their ratio.
struct pace_times {
    double post_p50[TURNS], post_p99[TURNS], commit_p50[TURNS], commit_p99[TURNS];
    double paced_p99[TURNS], ratio[TURNS];
};

static void note_times(struct http_stand *s, struct pace_times *t)
{
    http_note(s, HTTP_POST_P50_US, median(t->post_p50, TURNS));
    http_note(s, HTTP_POST_P99_US, median(t->post_p99, TURNS));
    http_note(s, HTTP_RAW_COMMIT_P50_US, median(t->commit_p50, TURNS));
    http_note(s, HTTP_RAW_COMMIT_P99_US, median(t->commit_p99, TURNS));
    http_note(s, HTTP_PACED_COMMIT_P99_US, median(t->paced_p99, TURNS));
    http_note(s, HTTP_POST_P99_OVER_RAW_P99, median(t->ratio, TURNS));
}

static long turn_of(long jobs, long most)
{
    long all = jobs < most ? jobs : most;
    return all / TURNS > 0 ? all / TURNS : 1;
}

static bool pace_in_turns(struct http_stand *s, struct pacer *pacers, struct control *control,
                          struct pawl_error *err)
{
    static double posts[POSTS_MAX / TURNS], commits[COMMITS_MAX / TURNS], paced[POSTS_MAX / TURNS];
    struct pace_times t;
    long post_count = turn_of(s->bench->options.jobs, POSTS_MAX);
    long commit_count = turn_of(s->bench->options.jobs, COMMITS_MAX);
    for (long i = 0; i < TURNS; i++) {
        bench_tell(&s->bench->options, "steady rate", i, TURNS);
        struct pace pace = { .posts = post_count, .took_us = posts };
        if (!commit_once(control, commits, commit_count, err))
            return false;
        t.commit_p50[i] = median(commits, (size_t)commit_count);
        t.commit_p99[i] = quantile(commits, (size_t)commit_count, 0.99);
        double per_s = pace_of_commits(t.commit_p50[i]);
        if (!commit_at_pace(control, paced, post_count, per_s, err)
            || !pace_once(s, pacers, pace, err))
            return false;
        t.paced_p99[i] = quantile(paced, (size_t)post_count, 0.99);
        t.post_p50[i] = median(posts, (size_t)post_count);
        t.post_p99[i] = quantile(posts, (size_t)post_count, 0.99);
        t.ratio[i] = t.post_p99[i] / t.paced_p99[i];
    }
    note_times(s, &t);
    return true;
}

bool measure_http_pace(struct http_stand *s, struct control *control, struct pawl_error *err)
{
    struct pacer pacers[CONNECTIONS] = {0};
    bool done = true;
    for (long i = 0; done && i < CONNECTIONS; i++) {
        pacers[i].payload = s->payload;
        done = http_client_open(&pacers[i].client, s->server.port, err);
    }
    done = done && pace_in_turns(s, pacers, control, err);
    for (long i = 0; i < CONNECTIONS; i++) {
        http_client_end(&pacers[i].client);
        arena_end(&pacers[i].arena);
    }
    return done;
}
