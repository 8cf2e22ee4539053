// The worker's log, on standard error: start and end of every job with duration, rows and errors
// (SLOT-9), what it did in words, and every feed that is bad.
//
//     2026-03-14T18:00:00Z brief.ingest start  job=0195...
//     2026-03-14T18:00:02Z brief.ingest note   job=0195... 8 feeds read, 1 of them bad; ...
//     2026-03-14T18:00:02Z brief.ingest end    job=0195... succeeded after 1.904 s, 62 rows
#pragma once

#include <pawl.h>
#include <pthread.h>
#include <stdio.h>

enum { DIARY_RUNS = 16 };

struct diary_note {
    char job_id[PAWL_ID_BYTES];  // "": nobody's
    char words[256];
};

struct diary {
    pthread_mutex_t mutex;  // guards what follows, and keeps lines whole
    struct diary_note notes[DIARY_RUNS];
};

void diary_open(struct diary *diary);
void diary_close(struct diary *diary);

// For `log` of pawl_options; the context is the diary.
void diary_log(void *diary, const struct pawl_log_line *line);

// What a run does if it commits: told only then, with its end. A run has one.
void diary_note(struct diary *diary, const struct pawl_run *run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Somebody should look at it, and the run goes on: told at once.
void diary_warn(struct diary *diary, const struct pawl_run *run, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
