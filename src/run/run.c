// A run as its handler sees it: questions about the job, and what the handler has to say.
#include "run/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/trace.h"
#include "model/input.h"
#include "model/text_rule.h"
#include "run/handle.h"
#include "run/request.h"
#include "run/runner.h"

static const char *keep(struct pawl_run *run, struct str text)
{
    return str_cstr(&run->arena, str_dup(&run->arena, text));
}

static struct str keep_str(struct pawl_run *run, struct str text)
{
    return str_dup(&run->arena, text);
}

static void fill_contract(struct pawl_run *run, const struct contract *c)
{
    run->contract = (struct contract){
        .org_id = str_of(run->subject.org_id),
        .project_id = keep_str(run, c->project_id),
        .request_id = str_of(run->subject.request_id),
        .correlation_id = str_of(run->subject.correlation_id),
        .traceparent = str_of(run->traceparent),
    };
}

// Of a run that just began: it has said nothing yet, so there is one text.
static void fill_execution(struct pawl_run *run, const struct execution *execution)
{
    run->execution = *execution;
    run->execution.lease_owner = run->execution.error_message = S("");
    run->execution.error_detail = run->execution.progress_message = S("");
    run->execution.serial_key = keep_str(run, execution->serial_key);
}

bool run_fill(struct pawl_run *run, const struct claimed *claimed, const struct worker *worker)
{
    const struct job *job = &claimed->job;
    const struct contract *c = &job->contract;
    run->subject = (struct journal_subject){
        .job_id = keep(run, id_text(&run->arena, job->id)),
        .job_type = keep(run, c->job_type),
        .org_id = keep(run, c->org_id),
        .project_id = keep(run, c->project_id),
        .request_id = keep(run, c->request_id),
        .correlation_id = keep(run, c->correlation_id),
        .attempt = claimed->execution.attempt,
    };
    run->exec_id = keep(run, id_text(&run->arena, claimed->execution.id));
    run->payload = keep(run, c->payload);
    run->traceparent = keep(run, traced_context_of(&run->arena, c->traceparent, job->id,
                                                   claimed->execution.id,
                                                   run->pawl->traces_per_million));
    fill_contract(run, c);
    run->lease = lease_of(&claimed->execution, worker);
    fill_execution(run, &claimed->execution);
    run->timeout_us = c->policy.timeout_us;
    run->lease_us = claimed->execution.lease_us;
    run->step_attempts = c->policy.step_attempts;
    run->has_inputs = policy_has_inputs(&c->policy);
    run->leased_at = claimed->execution.leased_at;
    run->finishing = claimed->finish;
    run->started = claimed->finish || claimed->execution.status == EXECUTION_IN_PROGRESS;
    run->result = keep_str(run, job->result);
    run->follow_ups = list_of(&run->arena, sizeof(struct contract));
    run->annotations = list_of(&run->arena, sizeof(struct str));
    run->artifacts = list_of(&run->arena, sizeof(struct id));
    run->rows = -1;
    return !run->arena.failed;
}

// ----- questions

const char *pawl_job_id(const struct pawl_run *run)
{
    return run->subject.job_id;
}

const char *pawl_job_type(const struct pawl_run *run)
{
    return run->subject.job_type;
}

const char *pawl_org_id(const struct pawl_run *run)
{
    return run->subject.org_id;
}

const char *pawl_project_id(const struct pawl_run *run)
{
    return run->contract.project_id.n ? run->contract.project_id.s : "";
}

const char *pawl_request_id(const struct pawl_run *run)
{
    return run->subject.request_id;
}

const char *pawl_correlation_id(const struct pawl_run *run)
{
    return run->subject.correlation_id;
}

const char *pawl_exec_id(const struct pawl_run *run)
{
    return run->exec_id;
}

const char *pawl_payload(const struct pawl_run *run)
{
    return run->payload;
}

const char *pawl_effect_key(const struct pawl_run *run)
{
    return run->subject.job_id;
}

const char *pawl_traceparent(const struct pawl_run *run)
{
    return run->traceparent;
}

int pawl_attempt(const struct pawl_run *run)
{
    return (int)run->subject.attempt;
}

const char *pawl_result_of(const struct pawl_run *run)
{
    return run->result.n ? run->result.s : "";
}

enum pawl_stop pawl_stopped(const struct pawl_run *run)
{
    return (enum pawl_stop)atomic_load(&run->stop);
}

// ----- failing

PRINTF(3, 0)
static void set_failed(struct pawl_run *run, enum error_class class, const char *format,
                       va_list args)
{
    char message[ERROR_MESSAGE_BYTES_MAX];
    if (run->failed)
        return;
    int length = vsnprintf(message, sizeof message, format, args);
    text_tidy(message, length >= (int)sizeof message);
    run->failed = true;
    run->class = class;
    run->message = keep_str(run, str_of(message));
}

void run_failed(struct pawl_run *run, enum error_class class, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_failed(run, class, format, args);
    va_end(args);
}

bool pawl_fail(struct pawl_run *run, enum pawl_class said, const char *format, ...)
{
    static const enum error_class classes[] = {
        [PAWL_TRANSIENT] = ERROR_TRANSIENT,
        [PAWL_TIMEOUT] = ERROR_TIMEOUT,
        [PAWL_OVERLOAD] = ERROR_OVERLOAD,
        [PAWL_DEPENDENCY] = ERROR_DEPENDENCY,
        [PAWL_RATE_LIMITED] = ERROR_RATE_LIMITED,
        [PAWL_INVALID_INPUT] = ERROR_INVALID_INPUT,
        [PAWL_VALIDATION] = ERROR_VALIDATION,
        [PAWL_AUTHORIZATION] = ERROR_AUTHORIZATION,
        [PAWL_BUSINESS_RULE] = ERROR_BUSINESS_RULE,
        [PAWL_CONFIGURATION] = ERROR_CONFIGURATION,
        [PAWL_RESOURCE_LIMIT] = ERROR_RESOURCE_LIMIT,
        [PAWL_TIMEOUT_PERMANENT] = ERROR_TIMEOUT_PERMANENT,
    };
    _Static_assert(countof(classes) == PAWL_CLASSES, "one row per class");
    bool known = (unsigned)said < PAWL_CLASSES;
    va_list args;
    va_start(args, format);
    set_failed(run, known ? classes[said] : ERROR_CONFIGURATION, format, args);
    va_end(args);
    return false;
}

void pawl_retry_after(struct pawl_run *run, int64_t microseconds)
{
    run->retry_after_us = microseconds > 0 ? microseconds : 0;
}

// ----- results

// What is stored with COMMITTED is said in prepare. In a step it would be lost when the step is not
// run again, and after prepare nobody would look at it.
bool run_may_say(struct pawl_run *run, const char *function)
{
    if (!run->in_step && !run->in_commit && !run->finishing)
        return true;
    return pawl_fail(run, PAWL_CONFIGURATION, "%s belongs to prepare: %s", function,
                     run->in_step ? "say it after the step" : "now it is too late");
}

// A JSON value that fits; else the run has failed, and says of which field.
static bool read_json(struct pawl_run *run, const char *what, const char *text, json_t **value)
{
    struct pawl_error why;
    return json_parse(str_of(text), PAYLOAD_BYTES_MAX, value, &why)
        || pawl_fail(run, PAWL_VALIDATION, "%s: %s", what, why.message);
}

static bool keep_json(struct pawl_run *run, const char *what, const char *text, struct str *kept)
{
    SCOPED(json) json_t *value = NULL;
    if (!read_json(run, what, text, &value))
        return false;
    *kept = keep_str(run, str_of(text));
    return true;
}

bool pawl_result(struct pawl_run *run, const char *json)
{
    return run_may_say(run, "pawl_result") && keep_json(run, "result", json, &run->result);
}

bool pawl_step_result(struct pawl_run *run, const char *json)
{
    if (run->in_step)
        return keep_json(run, "step result", json, &run->step_result);
    run_failed(run, ERROR_CONFIGURATION, "pawl_step_result was called outside a step");
    return false;
}

bool pawl_annotate(struct pawl_run *run, const char *json)
{
    SCOPED(json) json_t *value = NULL;
    if (!run_may_say(run, "pawl_annotate") || !read_json(run, "annotation", json, &value))
        return false;
    if (!json_is_object(value))
        return pawl_fail(run, PAWL_VALIDATION, "annotation: must be an object");
    struct str *annotation = list_add(&run->annotations);
    if (!annotation)
        return pawl_fail(run, PAWL_RESOURCE_LIMIT, "no memory for an annotation");
    *annotation = keep_str(run, str_of(json));
    return true;
}

void pawl_rows_processed(struct pawl_run *run, int64_t rows)
{
    run->rows = rows;
}

// A follow-up belongs to the org of its job and, unless it says otherwise, to its project and its
// correlation.
static struct pawl_job inherit(const struct pawl_run *run, const struct pawl_job *job)
{
    struct pawl_job whole = *job;
    const struct contract *c = &run->contract;
    if (!whole.org_id)
        whole.org_id = run->subject.org_id;
    if (!whole.project_id && c->project_id.n)
        whole.project_id = c->project_id.s;
    if (!whole.correlation_id)
        whole.correlation_id = run->subject.correlation_id;
    if (!whole.traceparent && run->traceparent[0])
        whole.traceparent = run->traceparent;
    return whole;
}

bool pawl_follow_up(struct pawl_run *run, const struct pawl_job *job)
{
    if (!run_may_say(run, "pawl_follow_up"))
        return false;
    if (!job)
        return pawl_fail(run, PAWL_CONFIGURATION, "follow_up: there is no job, it is NULL");
    struct pawl_job whole = inherit(run, job);
    struct problems problems = { .arena = &run->arena };
    struct contract contract;
    struct pawl_error why;
    if (!run_may_say(run, "pawl_follow_up"))
        return false;
    if (!request_contract(run->pawl, &whole, "follow_up.", &contract, &problems)) {
        if (!problems_none(&problems, &why))
            run_failed(run, ERROR_VALIDATION, "%s", why.message);
        return false;
    }
    struct contract *kept = list_add(&run->follow_ups);
    if (!kept)
        return pawl_fail(run, PAWL_RESOURCE_LIMIT, "no memory for a follow-up");
    *kept = contract;
    return true;
}
