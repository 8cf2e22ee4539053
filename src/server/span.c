// Attributes are ids and names from the contract of a job, never what is in its payload (JOB-10).
#include "server/span.h"

#include "model/failure.h"

static void put(struct span_writer *w, const struct span *span)
{
    span_put(w->out, span);
    w->count++;
}

static void write_request(struct span_writer *w, const struct span_note *note)
{
    struct str org = { note->org_id, note->org_id[0] ? sizeof note->org_id : 0 };
    struct span span = {
        .trace = note->trace,
        .parent = note->parent,
        .kind = SPAN_SERVER,
        .name = str_format(w->out->arena, "%s %s", note->method, note->route),
        .begun = note->at - note->took_us,
        .ended = note->at,
        .failed = note->status >= 500,
        .attributes = { { .key = "http.request.method", .text = str_of(note->method) },
                        { .key = "http.route", .text = str_of(note->route) },
                        { .key = "http.response.status_code", .number = note->status },
                        { .key = org.n ? "pawl.org_id" : NULL, .text = org } },
    };
    put(w, &span);
}

static struct span span_of_job(struct arena *arena, const char *verb, const struct traced_job *job)
{
    return (struct span){
        .name = str_format(arena, "%s %.*s", verb, STR(job->job_type)),
        .attributes = { { .key = "pawl.job_id", .text = id_text(arena, job->id) },
                        { .key = "pawl.job_type", .text = job->job_type },
                        { .key = "pawl.queue", .text = job->queue },
                        { .key = "pawl.org_id", .text = job->org_id } },
    };
}
enum { OF_JOB = 4 };  // attributes that every span of a job has

static void write_enqueueing(struct span_writer *w, const struct traced_job *job,
                             const struct trace *made_in, pawl_time at)
{
    struct span span = span_of_job(w->out->arena, "enqueue", job);
    span.trace = trace_enqueueing(made_in, job->id);
    span.parent = made_in->span;
    span.kind = SPAN_PRODUCER;
    span.begun = span.ended = at;
    put(w, &span);
}

// An attempt that was given back did not fail.
static bool failed(const struct traced_execution *e)
{
    return str_eq(e->status, S("ABORTED"))
        && !str_eq(e->end_reason, str_of(end_reason_name(END_RELEASED)));
}

static void write_execution(struct span_writer *w, const struct traced_job *job,
                            const struct trace *made_in, const struct traced_execution *e,
                            int64_t attempt)
{
    struct arena *arena = w->out->arena;
    struct trace enqueued = trace_enqueueing(made_in, job->id);
    struct span claim = span_of_job(arena, "claim", job), run = span_of_job(arena, "run", job);
    const struct span_attribute own[] = {
        { .key = "pawl.exec_id", .text = id_text(arena, e->id) },
        { .key = "pawl.attempt", .number = attempt },
        { .key = "pawl.end_reason", .text = e->end_reason.n ? e->end_reason : e->status },
    };
    for (size_t i = 0; i < countof(own); i++)
        run.attributes[OF_JOB + i] = own[i];
    claim.attributes[OF_JOB] = own[0];
    claim.attributes[OF_JOB + 1] = own[1];
    claim.trace = trace_claim(made_in, e->id);
    claim.parent = run.parent = enqueued.span;
    claim.kind = SPAN_INTERNAL;
    claim.begun = e->leased_at;
    claim.ended = run.begun = e->started_at;
    run.trace = trace_execution(made_in, e->id);
    run.kind = SPAN_CONSUMER;
    run.ended = e->finished_at;
    run.failed = failed(e);
    run.why = e->error_class.n ? e->error_class : e->end_reason;
    run.link = *made_in;
    put(w, &claim);
    put(w, &run);
}

bool span_write(struct span_writer *w, struct tx *tx, const struct span_note *note,
                struct pawl_error *err)
{
    struct traced_job job;
    struct traced_execution e;
    bool found = false;
    if (note->kind == NOTE_REQUEST)
        return write_request(w, note), true;
    if (!traced_job_load(tx, note->job, &job, &found, err))
        return false;
    struct trace made_in = trace_of_job(job.traceparent, job.id, w->per_million);
    if (!found || !made_in.sampled)
        return w->gone += !found, true;
    if (note->kind == NOTE_ENQUEUED)
        return write_enqueueing(w, &job, &made_in, note->at), true;
    if (!traced_execution_load(tx, note->job, note->attempt, &e, &found, err))
        return false;
    if (found)
        write_execution(w, &job, &made_in, &e, note->attempt);
    w->gone += !found;
    return true;
}
