// The library tells when a run begins and how it ended; the job itself knows what it did. A note is
// kept until the library has told that the run succeeded, and dropped when it did not.
#include "diary.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "dates.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *event, *word;
} words[] = {
    { "RUN_STARTED", "start" },
    { "RUN_ENDED", "end" },
};

void diary_open(struct diary *diary)
{
    *diary = (struct diary){0};
    pthread_mutex_init(&diary->mutex, NULL);
}

void diary_close(struct diary *diary)
{
    pthread_mutex_destroy(&diary->mutex);
}

// The note of this id; "" is that of a free one. The caller has the mutex.
static struct diary_note *find(struct diary *diary, const char *job_id)
{
    for (size_t i = 0; i < DIARY_RUNS; i++)
        if (strcmp(diary->notes[i].job_id, job_id) == 0)
            return &diary->notes[i];
    return NULL;
}

static void begin_line(pawl_time at, const char *job_type, const char *word, const char *job_id)
{
    char text[TIME_BYTES];
    date_time(at / 1000000, text);
    fprintf(stderr, "%s %s %-6s job=%s ", text, *job_type ? job_type : "worker", word,
            *job_id ? job_id : "-");
}

static const char *word_of(const char *event)
{
    for (size_t i = 0; i < countof(words); i++)
        if (strcmp(words[i].event, event) == 0)
            return words[i].word;
    return event;
}

static void tell_note(struct diary *diary, const struct pawl_log_line *line)
{
    struct diary_note *note = *line->job_id ? find(diary, line->job_id) : NULL;
    if (!note || strcmp(line->event, "RUN_STARTED") == 0)
        return;
    if (strncmp(line->message, "succeeded", 9) == 0) {
        begin_line(line->at, line->job_type, "note", line->job_id);
        fprintf(stderr, "%s\n", note->words);
    }
    *note = (struct diary_note){0};
}

void diary_log(void *context, const struct pawl_log_line *line)
{
    struct diary *diary = context;
    pthread_mutex_lock(&diary->mutex);
    tell_note(diary, line);
    begin_line(line->at, line->job_type, word_of(line->event), line->job_id);
    fprintf(stderr, "%s\n", line->message);
    pthread_mutex_unlock(&diary->mutex);
}

void diary_note(struct diary *diary, const struct pawl_run *run, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&diary->mutex);
    struct diary_note *note = find(diary, pawl_job_id(run));
    if (!note)
        note = find(diary, "");
    if (note) {  // there are more than handlers that run at once
        snprintf(note->job_id, sizeof(note->job_id), "%s", pawl_job_id(run));
        vsnprintf(note->words, sizeof(note->words), format, values);
    }
    pthread_mutex_unlock(&diary->mutex);
    va_end(values);
}

void diary_warn(struct diary *diary, const struct pawl_run *run, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    pthread_mutex_lock(&diary->mutex);
    begin_line((pawl_time)time(NULL) * 1000000, pawl_job_type(run), "warn", pawl_job_id(run));
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    pthread_mutex_unlock(&diary->mutex);
    va_end(values);
}
