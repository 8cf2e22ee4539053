// Metrics: what was committed is counted, under labels that cannot grow without bound, in a format
// that Prometheus reads.
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/metrics.h"

// The box's own connection, opened again with metrics that observe it.
struct meter {
    struct observers observers;
    struct metrics *metrics;
};

static struct meter *measure(struct box *box)
{
    struct meter *meter = arena_new(test_arena(), struct meter, 1);
    struct pawl_error err = {0};
    meter->metrics = metrics_open(&box->world.world);
    observers_add(&meter->observers, metrics_observe, meter->metrics);
    db_close(box->db);
    struct db_options options = { .url = box->url,
                                  .world = &box->world.world,
                                  .fleeting = true,
                                  .observers = &meter->observers };
    MUST(db_open(&box->db, &options, &err));
    return meter;
}

static void finish(struct box *box, struct meter *meter)
{
    box_reopen(box);  // nobody observes any more
    metrics_close(meter->metrics);
}

static struct str text_of(struct metrics *metrics)
{
    struct str text = metrics_text(test_arena(), metrics, &(struct gauges){0});
    EXPECT(text.n > 0);
    return text;
}

static bool has_line(struct str text, const char *line)
{
    const char *found = strstr(text.s, str_format(test_arena(), "\n%s\n", line).s);
    if (!found)
        fprintf(stderr, "no line `%s` in:\n%.*s\n", line, STR(text));
    return found != NULL;
}

static size_t lines_with(struct str text, const char *prefix)
{
    size_t count = 0;
    for (const char *at = text.s; (at = strstr(at, prefix)); at++)
        count += at == text.s || at[-1] == '\n';
    return count;
}

// ----- counting

TEST_EACH_DB(OPS_13_a_job_that_succeeds_is_counted_from_queue_to_end)
{
    struct meter *meter = measure(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    pass(box, SECONDS(3));
    must_commit(box, &lease);
    struct str text = text_of(meter->metrics);
#define REPORT "{job_type=\"report\",queue=\"q:default\""
    EXPECT(has_line(text, "jobs_enqueued_total" REPORT "} 1"));
    EXPECT(has_line(text, "jobs_started_total" REPORT "} 1"));
    EXPECT(has_line(text, "jobs_succeeded_total" REPORT "} 1"));
    EXPECT(has_line(text, "jobs_duration_seconds_bucket" REPORT ",le=\"2.5\"} 0"));
    EXPECT(has_line(text, "jobs_duration_seconds_bucket" REPORT ",le=\"5\"} 1"));
    EXPECT(has_line(text, "jobs_duration_seconds_bucket" REPORT ",le=\"+Inf\"} 1"));
    EXPECT(has_line(text, "jobs_duration_seconds_sum" REPORT "} 3"));
    EXPECT(has_line(text, "jobs_duration_seconds_count" REPORT "} 1"));
    EXPECT(has_line(text, "jobs_attempts_histogram_bucket{job_type=\"report\",le=\"0\"} 0"));
    EXPECT(has_line(text, "jobs_attempts_histogram_bucket{job_type=\"report\",le=\"1\"} 1"));
    EXPECT_INT(lines_with(text, "jobs_failed_total{"), 0);
    EXPECT_INT(lines_with(text, "deadletter_total{"), 0);
    finish(box, meter);
}

TEST_EACH_DB(OPS_13_a_job_that_fails_for_good_is_counted_by_class_and_by_the_queue_it_came_from)
{
    struct meter *meter = measure(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);  // to be tried again: not an end
    pass(box, HOURS(1));
    must_sweep(box);
    lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    struct str text = text_of(meter->metrics);
    EXPECT(has_line(text, "jobs_enqueued_total" REPORT "} 1"));  // once, though it came back
    EXPECT(has_line(text, "jobs_started_total" REPORT "} 2"));
    EXPECT(has_line(text, "jobs_failed_total" REPORT ",error_class=\"validation\"} 1"));
    EXPECT(has_line(text, "deadletter_total" REPORT "} 1"));
    EXPECT(has_line(text, "jobs_duration_seconds_count" REPORT "} 2"));
    EXPECT(has_line(text, "jobs_attempts_histogram_sum{job_type=\"report\"} 2"));
    EXPECT_INT(lines_with(text, "jobs_failed_total{"), 1);
    EXPECT_INT(lines_with(text, "jobs_succeeded_total{"), 0);
    finish(box, meter);
}

TEST_EACH_DB(OPS_13_a_cancelled_job_is_a_failed_one_of_class_cancelled)
{
    struct meter *meter = measure(box);
    struct job job = must_enqueue(box, "report");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    struct str text = text_of(meter->metrics);
    EXPECT(has_line(text, "jobs_failed_total" REPORT ",error_class=\"cancelled\"} 1"));
    EXPECT(has_line(text, "jobs_attempts_histogram_bucket{job_type=\"report\",le=\"0\"} 1"));
    EXPECT_INT(lines_with(text, "jobs_duration_seconds_count{"), 0);  // it never ran
    finish(box, meter);
}

TEST_EACH_DB(OPS_13_a_job_nobody_took_in_time_failed_without_a_class)
{
    struct meter *meter = measure(box);
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = SECONDS(10);
    must_add(box, &contract);
    pass(box, SECONDS(11));
    must_sweep(box);
    struct str text = text_of(meter->metrics);
    EXPECT(has_line(text, "jobs_failed_total" REPORT ",error_class=\"none\"} 1"));
    finish(box, meter);
}

TEST_EACH_DB(OPS_13_a_lease_that_expires_is_counted_once)
{
    struct meter *meter = measure(box);
    must_enqueue(box, "report");
    must_start(box, "A");
    EXPECT(has_line(text_of(meter->metrics), "pawl_leases_expired_total 0"));
    pass(box, MINUTES(2));
    must_sweep(box);
    EXPECT(has_line(text_of(meter->metrics), "pawl_leases_expired_total 1"));
    finish(box, meter);
}

TEST_EACH_DB(OPS_13_commits_are_counted_with_their_size_and_time)
{
    struct meter *meter = measure(box);
    metrics_observe(meter->metrics, &(struct observed){ .operations = 7, .commit_us = 2000 });
    metrics_observe(meter->metrics, &(struct observed){ .incomplete = true, .commit_us = -1 });
    struct str text = text_of(meter->metrics);
    EXPECT(has_line(text, "pawl_commit_batch_size_bucket{le=\"5\"} 0"));
    EXPECT(has_line(text, "pawl_commit_batch_size_bucket{le=\"10\"} 1"));
    EXPECT(has_line(text, "pawl_commit_seconds_bucket{le=\"0.001\"} 0"));
    EXPECT(has_line(text, "pawl_commit_seconds_bucket{le=\"0.0025\"} 1"));
    EXPECT(has_line(text, "pawl_commit_seconds_count 1"));
    EXPECT(has_line(text, "pawl_commits_not_counted_total 1"));
    finish(box, meter);
}

// ----- what is so now

TEST(OPS_13_gauges_are_as_told_and_the_process_is_asked)
{
    struct metrics *metrics = metrics_open(world_real());
    struct queue_depth depths[] = { { S("q:default"), S("ready"), 5 },
                                    { S("q:default"), S("delayed"), 2 } };
    struct queue_age ages[] = { { S("q:default"), 1500000 } };
    struct gauges gauges = { .store_bytes = 4096, .wal_bytes = 512 };
    gauges.depths = depths;
    gauges.depth_count = countof(depths);
    gauges.ages = ages;
    gauges.age_count = countof(ages);
    gauges.runner = (struct pawl_figures){ .running = 3, .written_off = 1 };
    metrics_http(metrics, "GET", "/v1/jobs/{id}", 200);
    metrics_http(metrics, "GET", "/v1/jobs/{id}", 200);
    metrics_refused(metrics, "rate");
    struct str text = metrics_text(test_arena(), metrics, &gauges);
    EXPECT(has_line(text, "pawl_queue_depth{queue=\"q:default\",place=\"ready\"} 5"));
    EXPECT(has_line(text, "pawl_queue_depth{queue=\"q:default\",place=\"delayed\"} 2"));
    EXPECT(has_line(text, "pawl_queue_oldest_seconds{queue=\"q:default\"} 1.5"));
    EXPECT(has_line(text, "pawl_store_bytes 4096"));
    EXPECT(has_line(text, "pawl_wal_bytes 512"));
    EXPECT(has_line(text, "pawl_runner_running 3"));
    EXPECT(has_line(text, "pawl_runner_written_off_total 1"));
    EXPECT(has_line(text, "pawl_http_refused_total{reason=\"rate\"} 1"));
    EXPECT(has_line(text, "pawl_http_requests_total{method=\"GET\",route=\"/v1/jobs/{id}\","
                          "status=\"200\"} 2"));
    EXPECT(has_line(text, "pawl_build_info{version=\"" PAWL_VERSION "\"} 1"));
    EXPECT(!strstr(text.s, "process_resident_memory_bytes 0\n"));
    EXPECT(!strstr(text.s, "process_open_fds 0\n"));
    metrics_close(metrics);
}

// ----- bounds

TEST(OPS_13_a_metric_has_at_most_a_thousand_series_and_the_rest_is_other)
{
    struct metrics *metrics = metrics_open(world_real());
    struct observation event = { .event = EVENT_JOB_ENQUEUED, .queue_name = S("q:default") };
    struct observed one = { .events = &event, .count = 1, .commit_us = -1 };
    for (int i = 0; i < 2 * SERIES_MAX; i++) {
        event.job_type = str_format(test_arena(), "type.%d", i);
        event.type = i + 1;
        metrics_observe(metrics, &one);
    }
    metrics_observe(metrics, &one);          // the last of them: other, again
    event.job_type = S("type.0");
    event.type = 1;
    metrics_observe(metrics, &one);          // known from the first moment
    struct str text = text_of(metrics);
    EXPECT_INT(lines_with(text, "jobs_enqueued_total{"), SERIES_MAX);
    EXPECT(has_line(text, "jobs_enqueued_total{job_type=\"type.0\",queue=\"q:default\"} 2"));
    EXPECT(has_line(text, "jobs_enqueued_total{job_type=\"other\",queue=\"other\"} 1002"));
    EXPECT(has_line(text, "pawl_metrics_series_dropped_total 1002"));
    metrics_close(metrics);
}

TEST(OPS_13_queues_beyond_the_bound_share_a_depth_and_the_greatest_age)
{
    enum { QUEUES = SERIES_MAX + 1 };
    struct metrics *metrics = metrics_open(world_real());
    struct queue_depth *depths = arena_new(test_arena(), struct queue_depth, QUEUES);
    struct queue_age *ages = arena_new(test_arena(), struct queue_age, QUEUES);
    for (int i = 0; i < QUEUES; i++) {
        struct str name = str_format(test_arena(), "q:%d", i);
        depths[i] = (struct queue_depth){ name, S("ready"), 1 };
        ages[i] = (struct queue_age){ name, SECONDS(QUEUES - i) };
    }
    struct gauges gauges = { .depths = depths, .depth_count = QUEUES };
    gauges.ages = ages;
    gauges.age_count = QUEUES;
    struct str text = metrics_text(test_arena(), metrics, &gauges);
    EXPECT(has_line(text, "pawl_queue_depth{queue=\"other\",place=\"other\"} 2"));
    EXPECT(has_line(text, "pawl_queue_oldest_seconds{queue=\"other\"} 2"));
    metrics_close(metrics);
}

// ----- the format

TEST(OPS_13_label_values_are_escaped_and_cut)
{
    struct metrics *metrics = metrics_open(world_real());
    char *longest = arena_new(test_arena(), char, 2 * LABEL_BYTES_MAX + 1);
    memset(longest, 'x', (size_t)2 * LABEL_BYTES_MAX);
    metrics_refused(metrics, "a\"b\\c\nd");
    metrics_refused(metrics, longest);
    longest[LABEL_BYTES_MAX] = '\0';
    struct str text = text_of(metrics);
    EXPECT(has_line(text, "pawl_http_refused_total{reason=\"a\\\"b\\\\c\\nd\"} 1"));
    EXPECT(has_line(text, str_format(test_arena(), "pawl_http_refused_total{reason=\"%s\"} 1",
                                     longest)
                              .s));
    metrics_close(metrics);
}

// Gives the text to the real promtool: its exit status, and what it says.
static int check_with_promtool(struct str text, char *said, size_t size)
{
    int in = memfd_create("metrics", 0), out = memfd_create("said", 0), status = -1;
    EXPECT(in >= 0 && out >= 0);
    EXPECT_INT(pwrite(in, text.s, text.n, 0), text.n);
    pid_t child = fork();
    if (child == 0) {
        dup2(in, 0);
        dup2(out, 1);
        dup2(out, 2);
        execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
        _exit(127);
    }
    EXPECT_INT(waitpid(child, &status, 0), child);
    ssize_t n = pread(out, said, size - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    close(in);
    close(out);
    return WEXITSTATUS(status);
}

// Every kind of sample, then Prometheus' own judge. Its one objection is to a name that OPS-13
// prescribes.
TEST_EACH_DB(OPS_13_promtool_objects_only_to_the_prescribed_name)
{
    struct meter *meter = measure(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    metrics_http(meter->metrics, "GET", "/v1/jobs/{id}", 200);
    metrics_refused(meter->metrics, "rate");
    char said[4096];
    int status = check_with_promtool(text_of(meter->metrics), said, sizeof said);
    EXPECT_INT(status, 3);
    EXPECT_INT(lines_with(str_of(said), "jobs_attempts_histogram"), 1);
    size_t lines = 0;
    for (const char *at = said; *at; at++)
        lines += *at == '\n';
    if (lines != 1)
        fprintf(stderr, "%s", said);
    EXPECT_INT(lines, 1);
    finish(box, meter);
}

// ----- the documentation

TEST(OPS_13_every_metric_is_documented_with_its_labels_and_help)
{
    struct str page = test_file("docs/metrics.md");
    for (size_t i = 0; metrics_row(i); i++) {
        const struct metric *metric = metrics_row(i);
        struct buf labels = buf_new(test_arena(), 256);
        for (size_t k = 0; k < metric_label_count(metric); k++)
            buf_addf(&labels, "%s`%s`", k ? ", " : "", metric->labels[k]);
        struct str row = str_format(test_arena(), "| `%s` | %.*s | %s |", metric->name,
                                    STR(buf_str(&labels)), metric->help);
        if (!strstr(page.s, row.s))
            fprintf(stderr, "docs/metrics.md lacks: %s\n", row.s);
        EXPECT(strstr(page.s, row.s) != NULL);
    }
}
