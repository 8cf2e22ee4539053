// The worker's log, on standard error: start and end of every job with duration, rows and errors
// (SLOT-9), and every feed that is bad.
//
//     2026-03-14T18:00:00Z brief.ingest start  job=0195...
//     2026-03-14T18:00:02Z brief.ingest end    job=0195... succeeded after 1.904 s, 62 rows: ...
#pragma once

#include <pawl.h>
#include <pthread.h>

enum { DIARY_RUNS = 16 };

struct diary_run {
    char job_id[PAWL_ID_BYTES];  // "": nobody's
    pawl_time began;
    int64_t rows;
    char note[256];
};

struct diary {
    pthread_mutex_t mutex;  // guards what follows, and keeps lines whole
    struct diary_run runs[DIARY_RUNS];
};

void diary_open(struct diary *diary);
void diary_close(struct diary *diary);

// For `log` of pawl_options; the context is the diary.
void diary_log(void *diary, const struct pawl_log_line *line);

// What a run did, told with its end: how many rows, and a few words.
void diary_rows(struct diary *diary, const struct pawl_run *run, int64_t rows, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

// Somebody should look at it, and the run goes on.
void diary_warn(struct diary *diary, const struct pawl_run *run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
