// A step reads what the steps before it have found out and says what it has found out itself, all
// as JSON: so nothing is lost when the process dies, and nothing depends on the file staying the
// same after it was read.
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "text.h"

enum { FILE_BYTES_MAX = 64 * 1024, TOP_WORDS = 4, SUMMARY_SENTENCES = 2 };
enum step { READ, SPLIT, INDEX, SUMMARISE, STEPS };

// One run of one document.
struct document {
    const struct processing *how;
    json_t *payload;
    json_t *found[STEPS];  // the results of the steps so far
    bool index_tried;
};

static bool read_file(struct pawl_run *run, void *context);
static bool split(struct pawl_run *run, void *context);
static bool count_words(struct pawl_run *run, void *context);
static bool summarise(struct pawl_run *run, void *context);

static const struct {
    const char *name;
    pawl_step_work work;
} steps[] = {
    [READ] = { "read", read_file },
    [SPLIT] = { "split", split },
    [INDEX] = { "index", count_words },
    [SUMMARISE] = { "summarise", summarise },
};

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

// Hands a step's result over to Pawl.
static bool found(struct pawl_run *run, json_t *result)
{
    char *text = json_dumps(result, JSON_COMPACT);
    json_decref(result);
    bool kept = text ? pawl_step_result(run, text)
                     : pawl_fail(run, PAWL_RESOURCE_LIMIT, "out of memory");
    free(text);
    return kept;
}

// After each piece of a step: tells how far it is, and lets it be stopped.
static bool go_on(struct pawl_run *run, const struct document *document, enum step step,
                  size_t done, size_t total)
{
    pawl_progress(run, (int)((step * total + done) * 100 / (STEPS * total)), "%s",
                  steps[step].name);
    return pawl_pause(run, document->how->pace_us);
}

// ----- the steps

static bool read_file(struct pawl_run *run, void *context)
{
    const struct document *document = context;
    const char *path = text_of(document->payload, "path");
    char bytes[FILE_BYTES_MAX + 1];
    size_t bad_at = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return pawl_fail(run, errno == ENOENT ? PAWL_INVALID_INPUT : PAWL_TRANSIENT, "%s: %s",
                         path, strerror(errno));
    size_t length = fread(bytes, 1, sizeof(bytes), file);
    bool unread = ferror(file) != 0;
    fclose(file);  // it was only read: nothing can be lost
    if (unread)
        return pawl_fail(run, PAWL_TRANSIENT, "%s cannot be read", path);
    if (length > FILE_BYTES_MAX)
        return pawl_fail(run, PAWL_RESOURCE_LIMIT, "longer than %d bytes", FILE_BYTES_MAX);
    if (!text_is_utf8(bytes, length, &bad_at))
        return pawl_fail(run, PAWL_VALIDATION, "byte %zu is not UTF-8", bad_at);
    if (!go_on(run, document, READ, 1, 1))
        return false;
    return found(run, json_pack("{s:s%}", "text", bytes, length));
}

static bool split(struct pawl_run *run, void *context)
{
    const struct document *document = context;
    json_t *sentences = text_sentences(text_of(document->found[READ], "text"));
    size_t count = json_array_size(sentences);
    if (sentences && count == 0) {
        json_decref(sentences);
        return pawl_fail(run, PAWL_VALIDATION, "there is nothing in it");
    }
    for (size_t i = 1; i <= count; i++)
        if (!go_on(run, document, SPLIT, i, count)) {
            json_decref(sentences);
            return false;
        }
    return found(run, json_pack("{s:o}", "sentences", sentences));
}

// Whether the index should fail now: in the middle, at the first try, when asked to.
static bool fails_once(struct document *document, size_t i, size_t count)
{
    const char *flaky = document->how->flaky;
    if (!flaky || document->index_tried || i * 2 < count
        || strcmp(flaky, text_of(document->payload, "document")) != 0)
        return false;
    document->index_tried = true;
    return true;
}

static bool count_words(struct pawl_run *run, void *context)
{
    struct document *document = context;
    const json_t *sentences = json_object_get(document->found[SPLIT], "sentences");
    size_t count = json_array_size(sentences);
    json_t *counts = json_object();
    int words = 0;
    for (size_t i = 0; i < count; i++) {
        int added = text_count(json_string_value(json_array_get(sentences, i)), counts);
        bool failed = fails_once(document, i, count);
        if (failed || added < 0 || !go_on(run, document, INDEX, i + 1, count)) {
            json_decref(counts);
            return failed && pawl_fail(run, PAWL_DEPENDENCY, "the dictionary does not answer");
        }
        words += added;
    }
    return found(run, json_pack("{s:i, s:o}", "words", words, "counts", counts));
}

static bool summarise(struct pawl_run *run, void *context)
{
    const struct document *document = context;
    const json_t *sentences = json_object_get(document->found[SPLIT], "sentences");
    json_t *counts = json_object_get(document->found[INDEX], "counts");
    size_t count = json_array_size(sentences);
    for (size_t i = 1; i <= count; i++)
        if (!go_on(run, document, SUMMARISE, i, count))
            return false;
    return found(run, json_pack("{s:o, s:o}", "top", text_top(counts, TOP_WORDS), "summary",
                                text_summary(sentences, counts, SUMMARY_SENTENCES)));
}

// ----- the handler

// What came out of all steps is the result of the job: `commit` and whoever asks read it there.
static bool conclude(struct pawl_run *run, const struct document *document)
{
    json_t *result = json_object();
    bool whole = json_object_update(result, document->payload) == 0
        && json_object_update(result, document->found[INDEX]) == 0
        && json_object_update(result, document->found[SUMMARISE]) == 0;
    char *text = whole ? json_dumps(result, JSON_COMPACT) : NULL;
    json_decref(result);
    bool good = text ? pawl_result(run, text)
                     : pawl_fail(run, PAWL_RESOURCE_LIMIT, "out of memory");
    free(text);
    return good;
}

static bool prepare(struct pawl_run *run, void *context)
{
    struct document document = { .how = context };
    document.payload = json_loads(pawl_payload(run), 0, NULL);
    bool good = text_of(document.payload, "path") && text_of(document.payload, "document");
    if (!good)
        pawl_fail(run, PAWL_INVALID_INPUT, "the payload names no path and no document");
    for (size_t i = 0; good && i < STEPS; i++) {
        const char *result = NULL;
        good = pawl_step(run, steps[i].name, steps[i].work, &document, &result);
        if (good)
            good = (document.found[i] = json_loads(result, 0, NULL)) != NULL;
    }
    good = good && conclude(run, &document);
    for (size_t i = 0; i < STEPS; i++)
        json_decref(document.found[i]);
    json_decref(document.payload);
    return good;
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    (void)context;
    struct pawl_error err = {0};
    json_t *result = json_loads(pawl_result_of(run), 0, NULL);
    bool stored = catalogue_store(tx, pawl_job_id(run), result, &err);
    json_decref(result);
    return stored || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
}

bool processing_register(struct pawl *pawl, struct processing *processing, struct pawl_error *err)
{
    // `document`: one attempt of at most 120 s, two tries per step, and a crash ends the run.
    struct pawl_handler handler = {
        .job_type = "document.process", .prepare = prepare, .commit = commit,
        .context = processing, .policy = "document",
    };
    return pawl_handle(pawl, &handler, err);
}
