// One row per metric, one row per event that counts. Rendering copies under the lock and writes
// text without it.
#include "server/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/event.h"
#include "model/schedule.h"
#include "server/process.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)  // more than all series of all metrics take

enum row {
    JOBS_ENQUEUED,
    JOBS_STARTED,
    JOBS_SUCCEEDED,
    JOBS_FAILED,
    JOBS_DURATION,
    JOBS_ATTEMPTS,
    DEADLETTER,
    QUEUE_DEPTH,
    QUEUE_OLDEST,
    LEASES_EXPIRED,
    COMMIT_BATCH,
    COMMIT_SECONDS,
    STORE_BYTES,
    WAL_BYTES,
    HTTP_REQUESTS,
    HTTP_REFUSED,
    HTTP_WAITING,
    RUNNER_RUNNING,
    RUNNER_WRITTEN_OFF,
    RUNNER_RECOVERED,
    SCHEDULER_LEADS,
    SLOTS_CLAIMED,
    SLOTS_SKIPPED,
    SLOTS_MISSED,
    SLOTS_STALE,
    SLOTS_RECOVERED,
    LIMITED,
    ALERTS_RAISED,
    ALERT_DELIVERIES,
    SPANS_EXPORTED,
    SPANS_DROPPED,
    NOT_COUNTED,
    SERIES_DROPPED,
    BUILD_INFO,
    PROCESS_RESIDENT,
    PROCESS_VIRTUAL,
    PROCESS_CPU,
    PROCESS_FDS,
    PROCESS_FDS_MAX,
    PROCESS_START,
    ROWS
};

static const double run_seconds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                      2.5, 5, 10, 30, 60, 300, 1800, 3600 };
static const double attempts[] = { 0, 1, 2, 3, 4, 5, 8, 13, 21 };
static const double operations[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };
static const double commit_seconds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                         0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5 };
_Static_assert(countof(run_seconds) <= BUCKETS_MAX, "a series has room for its buckets");
_Static_assert(countof(commit_seconds) <= BUCKETS_MAX, "a series has room for its buckets");

#define BOUNDS(of) .bounds = (of), .bound_count = countof(of)

static const struct metric table[] = {
    [JOBS_ENQUEUED] = { "jobs_enqueued_total", METRIC_COUNTER,
                        "Jobs that were put into a queue; another attempt does not count again.",
                        .labels = { "job_type", "queue" } },
    [JOBS_STARTED] = { "jobs_started_total", METRIC_COUNTER,
                       "Executions that started: every attempt counts.",
                       .labels = { "job_type", "queue" } },
    [JOBS_SUCCEEDED] = { "jobs_succeeded_total", METRIC_COUNTER, "Jobs that SUCCEEDED.",
                         .labels = { "job_type", "queue" } },
    [JOBS_FAILED] = { "jobs_failed_total", METRIC_COUNTER,
                      "Jobs that ended FAILED or TIMED_OUT, by the class of their last error.",
                      .labels = { "job_type", "queue", "error_class" } },
    [JOBS_DURATION] = { "jobs_duration_seconds", METRIC_HISTOGRAM,
                        "From the start of an execution to its end, whatever the end was.",
                        .labels = { "job_type", "queue" },
                        BOUNDS(run_seconds) },
    [JOBS_ATTEMPTS] = { "jobs_attempts_histogram", METRIC_HISTOGRAM,
                        "Attempts a job had used when it ended.",
                        .labels = { "job_type" },
                        BOUNDS(attempts) },
    [DEADLETTER] = { "deadletter_total", METRIC_COUNTER,
                     "Jobs that became dead letters, by the queue they came from.",
                     .labels = { "job_type", "queue" } },
    [QUEUE_DEPTH] = { "pawl_queue_depth", METRIC_GAUGE, "Jobs that wait, by where they wait.",
                      .labels = { "queue", "place" } },
    [QUEUE_OLDEST] = { "pawl_queue_oldest_seconds", METRIC_GAUGE,
                       "How long the oldest ready job of the queue has waited.",
                       .labels = { "queue" } },
    [LEASES_EXPIRED] = { "pawl_leases_expired_total", METRIC_COUNTER,
                         "Executions that ended because their worker fell silent.",
                         .bound_count = 0 },
    [COMMIT_BATCH] = { "pawl_commit_batch_size", METRIC_HISTOGRAM,
                       "Operations that shared one transaction of the commit pipeline.",
                       BOUNDS(operations) },
    [COMMIT_SECONDS] = { "pawl_commit_seconds", METRIC_HISTOGRAM,
                         "How long the commit of a transaction took, its sync included.",
                         BOUNDS(commit_seconds) },
    [STORE_BYTES] = { "pawl_store_bytes", METRIC_GAUGE, "Size of the store, without its log.",
                      .bound_count = 0 },
    [WAL_BYTES] = { "pawl_wal_bytes", METRIC_GAUGE, "Size of the store's write-ahead log.",
                    .bound_count = 0 },
    [HTTP_REQUESTS] = { "pawl_http_requests_total", METRIC_COUNTER, "Requests answered.",
                        .labels = { "method", "route", "status" } },
    [HTTP_REFUSED] = { "pawl_http_refused_total", METRIC_COUNTER,
                       "Requests and connections that were turned away before they reached a "
                       "route.",
                       .labels = { "reason" } },
    [HTTP_WAITING] = { "pawl_http_waiting", METRIC_GAUGE,
                       "Requests that wait for something to happen: long-polls and streams.",
                       .bound_count = 0 },
    [RUNNER_RUNNING] = { "pawl_runner_running", METRIC_GAUGE, "Handlers at work in this process.",
                         .bound_count = 0 },
    [RUNNER_WRITTEN_OFF] = { "pawl_runner_written_off_total", METRIC_COUNTER,
                             "Handlers that ignored their deadline and were given up.",
                             .bound_count = 0 },
    [RUNNER_RECOVERED] = { "pawl_runner_recovered_total", METRIC_COUNTER,
                           "Runs that an earlier process of this instance had left, ended or "
                           "finished at the start.",
                           .bound_count = 0 },
    [SCHEDULER_LEADS] = { "pawl_scheduler_leads", METRIC_GAUGE,
                          "1 while this process is the active scheduler, else 0.",
                          .bound_count = 0 },
    [SLOTS_CLAIMED] = { "pawl_slots_claimed_total", METRIC_COUNTER,
                        "Slots of schedules that this process claimed by the clock.",
                        .bound_count = 0 },
    [SLOTS_SKIPPED] = { "pawl_slots_skipped_total", METRIC_COUNTER,
                        "Slots that it did not run, by the reason that is on record for each.",
                        .labels = { "reason" } },
    [SLOTS_MISSED] = { "pawl_slots_missed_total", METRIC_COUNTER,
                       "Those of them that were found later than their misfire_grace_time.",
                       .bound_count = 0 },
    [SLOTS_STALE] = { "pawl_slots_stale_total", METRIC_COUNTER,
                      "Slots whose job took longer than twice its expected_max_runtime.",
                      .bound_count = 0 },
    [SLOTS_RECOVERED] = { "pawl_slots_recovered_total", METRIC_COUNTER,
                          "Slots that an earlier process of this instance had left running, closed "
                          "at the start.",
                          .bound_count = 0 },
    [LIMITED] = { "pawl_limited_total", METRIC_COUNTER,
                  "Claims that a limit kept from taking a job: of a queue, a job_type, an org or a "
                  "key, by what runs or by its rate.",
                  .labels = { "scope", "by" } },
    [ALERTS_RAISED] = { "pawl_alerts_total", METRIC_COUNTER,
                        "What somebody must be told, whether or not there is a target.",
                        .labels = { "kind" } },
    [ALERT_DELIVERIES] = { "pawl_alert_deliveries_total", METRIC_COUNTER,
                           "Messages to the targets of alerts: delivered, failed (they are tried "
                           "again), given_up.",
                           .labels = { "target", "outcome" } },
    [SPANS_EXPORTED] = { "pawl_spans_exported_total", METRIC_COUNTER,
                         "Spans that the collector of traces has taken.", .bound_count = 0 },
    [SPANS_DROPPED] = { "pawl_spans_dropped_total", METRIC_COUNTER,
                        "Spans that nobody will see: too many waited for the collector (full), it "
                        "did not take them (refused), or their job was gone (gone).",
                        .labels = { "reason" } },
    [NOT_COUNTED] = { "pawl_commits_not_counted_total", METRIC_COUNTER,
                      "Transactions that these metrics count in part only, because the outcome of "
                      "the commit was unknown at first or too much happened at once.",
                      .bound_count = 0 },
    [SERIES_DROPPED] = { "pawl_metrics_series_dropped_total", METRIC_COUNTER,
                         "How often something was counted under the label value other, because "
                         "its metric has as many series as it may have.", .bound_count = 0 },
    [BUILD_INFO] = { "pawl_build_info", METRIC_GAUGE, "Always 1; the label says the version.",
                     .labels = { "version" } },
    [PROCESS_RESIDENT] = { "process_resident_memory_bytes", METRIC_GAUGE,
                           "Memory of this process that is in RAM.", .bound_count = 0 },
    [PROCESS_VIRTUAL] = { "process_virtual_memory_bytes", METRIC_GAUGE,
                          "Address space of this process.", .bound_count = 0 },
    [PROCESS_CPU] = { "process_cpu_seconds_total", METRIC_COUNTER,
                      "Processor time of this process, user and system.", .bound_count = 0 },
    [PROCESS_FDS] = { "process_open_fds", METRIC_GAUGE, "Open file descriptors.",
                      .bound_count = 0 },
    [PROCESS_FDS_MAX] = { "process_max_fds", METRIC_GAUGE,
                          "File descriptors this process may have.", .bound_count = 0 },
    [PROCESS_START] = { "process_start_time_seconds", METRIC_GAUGE,
                        "When this process started, in seconds since 1970.", .bound_count = 0 },
};
_Static_assert(countof(table) == ROWS, "one row per metric");

struct metrics {
    pawl_time started_at;
    pthread_mutex_t mutex;  // guards the series
    struct series_set sets[ROWS];
};

const struct metric *metrics_row(size_t index)
{
    return index < ROWS ? &table[index] : NULL;
}

struct metrics *metrics_open(const struct world *world)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return NULL;
    metrics->started_at = world_wall(world);
    pthread_mutex_init(&metrics->mutex, NULL);
    return metrics;
}

static void sets_end(struct series_set *sets)
{
    for (size_t i = 0; i < ROWS; i++)
        series_end(&sets[i]);
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    sets_end(metrics->sets);
    pthread_mutex_destroy(&metrics->mutex);
    free(metrics);
}

// ----- counting, with the lock held. Without memory for a new series nothing is counted.

static void add(struct series_set *sets, enum row row, const struct str *labels, double amount)
{
    struct series *series = series_at(&sets[row], labels, metric_label_count(&table[row]));
    if (series)
        series->value += amount;
}

static void record(struct series_set *sets, enum row row, double value)
{
    const struct metric *metric = &table[row];
    struct series *series = series_at(&sets[row], NULL, 0);
    if (series)
        series_record(series, metric->bounds, metric->bound_count, value);
}

// The series of an event, by the numbers that its names have in the store: this is done several
// times for each job.
static struct series *series_of(struct series_set *sets, enum row row,
                                const struct observation *event, const struct str *labels)
{
    size_t label_count = metric_label_count(&table[row]);
    uint64_t type = (uint64_t)event->type, queue = label_count > 1 ? (uint64_t)event->queue : 0;
    bool fits = type < 1u << 30 && queue < 1u << 30 && label_count < LABELS_MAX;
    return fits && type ? series_known(&sets[row], type << 30 | queue, labels, label_count)
                        : series_at(&sets[row], labels, label_count);
}

static void add_event(struct series_set *sets, enum row row, const struct observation *event,
                      const struct str *labels)
{
    struct series *series = series_of(sets, row, event, labels);
    if (series)
        series->value++;
}

static void record_event(struct series_set *sets, enum row row, const struct observation *event,
                         const struct str *labels, double value)
{
    const struct metric *metric = &table[row];
    struct series *series = series_of(sets, row, event, labels);
    if (series)
        series_record(series, metric->bounds, metric->bound_count, value);
}

// What an event counts as.
static const struct counted {
    enum row row;
    bool counts;    // in `row`
    bool ends_run;  // an execution, if it is about one that had started
    bool ends_job;
} counted[EVENTS] = {
    [EVENT_JOB_ENQUEUED] = { JOBS_ENQUEUED, .counts = true },
    [EVENT_JOB_STARTED] = { JOBS_STARTED, .counts = true },
    [EVENT_JOB_SUCCEEDED] = { JOBS_SUCCEEDED, .counts = true, .ends_run = true, .ends_job = true },
    [EVENT_JOB_RETRIED] = { .ends_run = true },
    [EVENT_JOB_RELEASED] = { .ends_run = true },
    [EVENT_JOB_FAILED] = { JOBS_FAILED, .counts = true, .ends_run = true, .ends_job = true },
    [EVENT_JOB_CANCELLED] = { JOBS_FAILED, .counts = true, .ends_run = true, .ends_job = true },
    [EVENT_JOB_DEADLETTERED] = { DEADLETTER, .counts = true },
};

static struct str class_of(const struct observation *event)
{
    if (event->event == EVENT_JOB_CANCELLED)
        return S("cancelled");
    struct str name = str_of(error_class_name(event->error_class));
    return name.n ? name : S("none");  // it never ran: nobody could fail
}

static void count(struct series_set *sets, const struct observation *event, pawl_time at)
{
    const struct counted *as = &counted[event->event];
    const struct str labels[] = { event->job_type, event->queue_name, class_of(event) };
    bool again = event->event == EVENT_JOB_ENQUEUED && event->attempt > 0;
    if (as->counts && !again)
        add_event(sets, as->row, event, labels);
    if (as->ends_run && event->started_at)
        record_event(sets, JOBS_DURATION, event, labels,
                     (double)(at - event->started_at) / 1e6);
    if (as->ends_run && event->end_reason == END_LEASE_EXPIRED)
        add(sets, LEASES_EXPIRED, NULL, 1);
    if (event->alert)
        add(sets, ALERTS_RAISED, (struct str[]){ str_of(alert_kind_name(event->alert)) }, 1);
    if (as->ends_job)
        record_event(sets, JOBS_ATTEMPTS, event, labels, (double)event->attempts);
}

static void count_limited(struct series_set *sets, const struct observed *observed)
{
    for (size_t scope = 0; scope < LIMIT_SCOPES; scope++)
        for (size_t way = 0; way < LIMIT_WAYS; way++)
            if (observed->limited[scope][way])
                add(sets, LIMITED,
                    (struct str[]){ str_of(limit_scope_name((enum limit_scope)scope)),
                                    str_of(limit_way_name((enum limit_way)way)) },
                    (double)observed->limited[scope][way]);
}

void metrics_observe(void *self, const struct observed *observed)
{
    struct metrics *metrics = self;
    pthread_mutex_lock(&metrics->mutex);
    for (size_t i = 0; i < observed->count; i++)
        count(metrics->sets, &observed->events[i], observed->at);
    count_limited(metrics->sets, observed);
    if (observed->operations)
        record(metrics->sets, COMMIT_BATCH, (double)observed->operations);
    if (observed->commit_us >= 0)
        record(metrics->sets, COMMIT_SECONDS, (double)observed->commit_us / 1e6);
    if (observed->incomplete)
        add(metrics->sets, NOT_COUNTED, NULL, 1);
    pthread_mutex_unlock(&metrics->mutex);
}

void metrics_http(struct metrics *metrics, const char *method, const char *route, int status)
{
    char number[16];
    int n = snprintf(number, sizeof number, "%d", status);
    const struct str labels[] = { str_of(method), str_of(route), { number, (size_t)n } };
    pthread_mutex_lock(&metrics->mutex);
    add(metrics->sets, HTTP_REQUESTS, labels, 1);
    pthread_mutex_unlock(&metrics->mutex);
}

void metrics_refused(struct metrics *metrics, const char *reason)
{
    pthread_mutex_lock(&metrics->mutex);
    add(metrics->sets, HTTP_REFUSED, (struct str[]){ str_of(reason) }, 1);
    pthread_mutex_unlock(&metrics->mutex);
}

void metrics_alert(struct metrics *metrics, struct str target, const char *outcome)
{
    const struct str labels[] = { target, str_of(outcome) };
    pthread_mutex_lock(&metrics->mutex);
    add(metrics->sets, ALERT_DELIVERIES, labels, 1);
    pthread_mutex_unlock(&metrics->mutex);
}

// ----- rendering

// A copy of what was counted so far, in an arena; the texts of labels are the original's, which
// never change.
struct snapshot {
    struct series *all[ROWS];
    size_t count[ROWS];
    int64_t folded;
};

static void copy(struct arena *arena, struct metrics *metrics, struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){0};
    pthread_mutex_lock(&metrics->mutex);
    for (size_t i = 0; i < ROWS; i++) {
        const struct series_set *set = &metrics->sets[i];
        snapshot->all[i] = arena_new(arena, struct series, set->count);
        snapshot->folded += set->folded;
        if (!snapshot->all[i])
            continue;  // the arena remembers
        snapshot->count[i] = set->count;
        for (size_t k = 0; k < set->count; k++)
            snapshot->all[i][k] = set->all[k];
    }
    pthread_mutex_unlock(&metrics->mutex);
}

static void set_process(struct series_set *sets, pawl_time started_at)
{
    struct process_figures process = process_figures();
    add(sets, BUILD_INFO, (struct str[]){ S(PAWL_VERSION) }, 1);
    add(sets, PROCESS_RESIDENT, NULL, (double)process.resident_bytes);
    add(sets, PROCESS_VIRTUAL, NULL, (double)process.virtual_bytes);
    add(sets, PROCESS_CPU, NULL, process.cpu_seconds);
    add(sets, PROCESS_FDS, NULL, (double)process.open_fds);
    add(sets, PROCESS_FDS_MAX, NULL, (double)process.max_fds);
    add(sets, PROCESS_START, NULL, (double)started_at / 1e6);
}

// Of those that share a series the oldest counts.
static void set_age(struct series_set *sets, const struct queue_age *age)
{
    struct series *series = series_at(&sets[QUEUE_OLDEST], &age->queue, 1);
    double seconds = (double)age->oldest_us / 1e6;
    if (series && series->value < seconds)
        series->value = seconds;
}

static void set_scheduler(struct series_set *sets, const struct pawl_figures *f)
{
    const int64_t skipped[] = {
        [SKIP_MISFIRE] = f->slots_misfired,
        [SKIP_COALESCED] = f->slots_coalesced,
        [SKIP_MAX_INSTANCES] = f->slots_at_max_instances,
        [SKIP_PAUSED] = f->slots_paused,
        [SKIP_CATCH_UP_LIMIT] = f->slots_over_catch_up,
    };
    _Static_assert(countof(skipped) == SKIP_REASONS, "one figure per reason");
    add(sets, SCHEDULER_LEADS, NULL, (double)f->leads);
    add(sets, SLOTS_CLAIMED, NULL, (double)f->slots_claimed);
    for (unsigned i = 0; i < SKIP_REASONS; i++)
        add(sets, SLOTS_SKIPPED,
            (struct str[]){ str_of(skip_reason_name((enum skip_reason)i)) }, (double)skipped[i]);
    add(sets, SLOTS_MISSED, NULL, (double)f->slots_misfired);
    add(sets, SLOTS_STALE, NULL, (double)f->slots_stale);
    add(sets, SLOTS_RECOVERED, NULL, (double)f->slots_recovered);
}

static void set_gauges(struct series_set *sets, const struct gauges *gauges)
{
    for (size_t i = 0; i < gauges->depth_count; i++) {
        const struct queue_depth *depth = &gauges->depths[i];
        add(sets, QUEUE_DEPTH, (struct str[]){ depth->queue, depth->place }, (double)depth->jobs);
    }
    for (size_t i = 0; i < gauges->age_count; i++)
        set_age(sets, &gauges->ages[i]);
    add(sets, STORE_BYTES, NULL, (double)gauges->store_bytes);
    add(sets, WAL_BYTES, NULL, (double)gauges->wal_bytes);
    add(sets, HTTP_WAITING, NULL, (double)gauges->http_waiting);
    add(sets, RUNNER_RUNNING, NULL, (double)gauges->runner.running);
    add(sets, RUNNER_WRITTEN_OFF, NULL, (double)gauges->runner.written_off);
    add(sets, RUNNER_RECOVERED, NULL, (double)gauges->runner.recovered);
    set_scheduler(sets, &gauges->runner);
    add(sets, SPANS_EXPORTED, NULL, (double)gauges->spans.sent);
    add(sets, SPANS_DROPPED, (struct str[]){ S("full") }, (double)gauges->spans.full);
    add(sets, SPANS_DROPPED, (struct str[]){ S("refused") }, (double)gauges->spans.refused);
    add(sets, SPANS_DROPPED, (struct str[]){ S("gone") }, (double)gauges->spans.gone);
}

struct str metrics_text(struct arena *arena, struct metrics *metrics, const struct gauges *gauges)
{
    struct snapshot counted_so_far;
    struct series_set now[ROWS] = {0};
    struct buf text = buf_new(arena, TEXT_BYTES_MAX);
    copy(arena, metrics, &counted_so_far);
    set_process(now, metrics->started_at);
    set_gauges(now, gauges);
    int64_t folded = counted_so_far.folded;
    for (size_t i = 0; i < ROWS; i++)
        folded += now[i].folded;
    add(now, SERIES_DROPPED, NULL, (double)folded);
    for (size_t i = 0; i < ROWS; i++) {
        bool is_now = now[i].count > 0;
        exposition_add(&text, &table[i], is_now ? now[i].all : counted_so_far.all[i],
                       is_now ? now[i].count : counted_so_far.count[i]);
    }
    sets_end(now);
    return arena->failed || text.full ? S("") : buf_str(&text);
}
