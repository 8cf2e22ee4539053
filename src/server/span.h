// Spans of notes: what happened, looked up in the store.
#pragma once

#include "engine/trace.h"
#include "server/span_json.h"

enum span_note_kind { NOTE_NONE, NOTE_REQUEST, NOTE_ENQUEUED, NOTE_EXECUTED };

// What is remembered until its span is made.
struct span_note {
    enum span_note_kind kind;
    int status;                  // from here on of a request ...
    const char *method, *route;
    int64_t took_us;
    struct trace trace;
    uint64_t parent;
    char org_id[ID_TEXT];
    int64_t job, attempt;        // ... and of the others
    pawl_time at;                // when it ended, or was committed
};

struct span_writer {
    struct buf *out;
    int64_t per_million;  // see trace_of_job
    size_t count;         // spans written
    size_t gone;          // notes of jobs that are not there any more
};

// Writes the spans of a note; none when nobody wants to see its trace.
CHECKED bool span_write(struct span_writer *writer, struct tx *tx, const struct span_note *note,
                        struct pawl_error *err);
