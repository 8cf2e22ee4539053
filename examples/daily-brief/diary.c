// The library tells when a run begins and ends; the job itself knows what it did. They meet here,
// by the id of the job.
#include "diary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dates.h"

void diary_open(struct diary *diary)
{
    *diary = (struct diary){0};
    pthread_mutex_init(&diary->mutex, NULL);
}

void diary_close(struct diary *diary)
{
    pthread_mutex_destroy(&diary->mutex);
}

// The run's own entry, or a free one; there are more than handlers that run at once. The caller has
// the mutex.
static struct diary_run *run_of(struct diary *diary, const char *job_id)
{
    struct diary_run *free_one = &diary->runs[0];
    for (size_t i = 0; i < DIARY_RUNS; i++) {
        if (strcmp(diary->runs[i].job_id, job_id) == 0)
            return &diary->runs[i];
        if (!diary->runs[i].job_id[0])
            free_one = &diary->runs[i];
    }
    *free_one = (struct diary_run){0};
    snprintf(free_one->job_id, sizeof(free_one->job_id), "%s", job_id);
    return free_one;
}

static void stamp(pawl_time at)
{
    char text[TIME_BYTES];
    date_time(at / 1000000, text);
    fprintf(stderr, "%s ", text);
}

static void tell_end(struct diary *diary, const struct pawl_log_line *line)
{
    struct diary_run *run = run_of(diary, line->job_id);
    double seconds = run->began ? (double)(line->at - run->began) / 1e6 : 0;
    fprintf(stderr, "%s end    job=%s %s after %.3f s", line->job_type, line->job_id, line->message,
            seconds);
    if (run->note[0])
        fprintf(stderr, ", %" PRId64 " rows: %s", run->rows, run->note);
    fputc('\n', stderr);
    *run = (struct diary_run){0};
}

void diary_log(void *context, const struct pawl_log_line *line)
{
    struct diary *diary = context;
    pthread_mutex_lock(&diary->mutex);
    stamp(line->at);
    if (strcmp(line->event, "RUN_STARTED") == 0) {
        run_of(diary, line->job_id)->began = line->at;
        fprintf(stderr, "%s start  job=%s\n", line->job_type, line->job_id);
    } else if (strcmp(line->event, "RUN_ENDED") == 0) {
        tell_end(diary, line);
    } else {
        fprintf(stderr, "%s %s job=%s %s\n", *line->job_type ? line->job_type : "worker",
                line->event, *line->job_id ? line->job_id : "-", line->message);
    }
    pthread_mutex_unlock(&diary->mutex);
}

void diary_rows(struct diary *diary, const struct pawl_run *run, int64_t rows, const char *format,
                ...)
{
    va_list words;
    va_start(words, format);
    pthread_mutex_lock(&diary->mutex);
    struct diary_run *entry = run_of(diary, pawl_job_id(run));
    entry->rows = rows;
    vsnprintf(entry->note, sizeof(entry->note), format, words);
    pthread_mutex_unlock(&diary->mutex);
    va_end(words);
}

void diary_warn(struct diary *diary, const struct pawl_run *run, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    pthread_mutex_lock(&diary->mutex);
    stamp((pawl_time)time(NULL) * 1000000);
    fprintf(stderr, "%s warn   job=%s ", pawl_job_type(run), pawl_job_id(run));
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    pthread_mutex_unlock(&diary->mutex);
    va_end(words);
}
