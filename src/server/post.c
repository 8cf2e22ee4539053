// One message per run, on the thread of the runner that would otherwise wait for a command.
#include "server/post.h"

#include "base/hash.h"
#include "model/text_rule.h"
#include "run/handle.h"
#include "run/run.h"
#include "server/command_result.h"
#include "server/outbound.h"

enum { OWN_HEADERS_MAX = 8, SAID_BYTES_MAX = 200 };

// The deadline of the job is the runner's to watch: it asks for the stop before this is over.
#define AFTER_DEADLINE_US SECONDS(10)

// ----- what is sent

static const char *const *headers_of(struct arena *arena, const struct post_type *type,
                                     const struct pawl_run *run)
{
    const char **lines = arena_new(arena, const char *, OWN_HEADERS_MAX + 1);
    char digits[HASH_DIGITS + 1] = "";
    const char *trace = pawl_traceparent(run);
    if (type->secret.n)
        hash_sign(type->secret, str_of(pawl_payload(run)), digits);
    const struct {
        const char *name, *value;  // empty: it is left out
    } all[] = {
        { "Idempotency-Key", pawl_effect_key(run) },
        { "X-Pawl-Job-Id", pawl_job_id(run) },
        { "X-Pawl-Job-Type", pawl_job_type(run) },
        { "X-Pawl-Exec-Id", pawl_exec_id(run) },
        { "X-Pawl-Attempt", str_format(arena, "%d", pawl_attempt(run)).s },
        { "X-Pawl-Org-Id", pawl_org_id(run) },
        { "traceparent", trace },
        { "X-Pawl-Signature", digits[0] ? str_format(arena, "sha256=%s", digits).s : "" },
    };
    _Static_assert(countof(all) == OWN_HEADERS_MAX, "room for each");
    size_t count = 0;
    for (size_t i = 0; lines && i < countof(all); i++)
        if (all[i].value && all[i].value[0])
            lines[count++] = str_format(arena, "%s: %s", all[i].name, all[i].value).s;
    return lines;
}

// ----- what comes back

static const struct {
    int status;
    enum pawl_class class;
} statuses[] = {
    { 401, PAWL_AUTHORIZATION },
    { 403, PAWL_AUTHORIZATION },
    { 404, PAWL_CONFIGURATION },
    { 405, PAWL_CONFIGURATION },
    { 407, PAWL_AUTHORIZATION },
    { 408, PAWL_TIMEOUT },
    { 409, PAWL_BUSINESS_RULE },
    { 410, PAWL_CONFIGURATION },
    { 413, PAWL_RESOURCE_LIMIT },
    { 422, PAWL_VALIDATION },
    { 425, PAWL_TRANSIENT },
    { 429, PAWL_RATE_LIMITED },
    { 503, PAWL_OVERLOAD },
};

enum pawl_class post_class(int status)
{
    for (size_t i = 0; i < countof(statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].class;
    if (status >= 300 && status < 400)
        return PAWL_CONFIGURATION;  // redirects are not followed
    return status >= 400 && status < 500 ? PAWL_INVALID_INPUT : PAWL_DEPENDENCY;
}

static bool refused(struct pawl_run *run, struct arena *arena, const struct outbound_reply *reply)
{
    struct str said = text_clip(reply->body, SAID_BYTES_MAX);
    if (reply->retry_after_us)
        pawl_retry_after(run, reply->retry_after_us);
    struct str why = reply->status >= 300 && reply->status < 400
                       ? S(", and redirects are not followed")
                       : str_format(arena, "%s%.*s", said.n ? ": " : "", STR(said));
    return pawl_fail(run, post_class(reply->status), "it answered %d%.*s", reply->status, STR(why));
}

static bool keep_result(struct pawl_run *run, const struct post_type *type, struct arena *arena,
                        struct str body)
{
    struct str json;
    if (body.n > type->result_bytes_max
        || !command_result(arena, body, type->result_bytes_max, &json))
        return pawl_fail(run, PAWL_RESOURCE_LIMIT, "its answer is longer than %zu bytes",
                         type->result_bytes_max);
    return json.n == 0 || pawl_result(run, json.s);
}

static bool judge(struct pawl_run *run, const struct post_type *type, struct arena *arena,
                  const struct outbound_reply *reply)
{
    if (reply->status < 200 || reply->status > 299)
        return refused(run, arena, reply);
    return keep_result(run, type, arena, reply->body);
}

// ----- a run

static bool stopped(void *run)
{
    return pawl_stopped(run) != PAWL_GO_ON;
}

static int64_t timeout_of(const struct post_type *type, const struct pawl_run *run)
{
    bool own = type->timeout_us > 0 && type->timeout_us < run->timeout_us;
    return own ? type->timeout_us : run->timeout_us + AFTER_DEADLINE_US;
}

static bool send(struct outbound *outbound, const struct post_type *type, struct pawl_run *run,
                 struct arena *arena)
{
    struct outbound_message message = {
        .body = str_of(pawl_payload(run)),
        .headers = headers_of(arena, type, run),
        .stopped = stopped,
        .self = run,
    };
    struct outbound_reply reply;
    struct pawl_error err = {0};
    if (arena->failed)
        return pawl_fail(run, PAWL_TRANSIENT, "no memory for a message");
    if (outbound_post(outbound, &message, arena, &reply, &err))
        return judge(run, type, arena, &reply);
    return pawl_fail(run, reply.late ? PAWL_TIMEOUT : PAWL_DEPENDENCY, "%s", err.message);
}

static bool prepare(struct pawl_run *run, void *context)
{
    const struct post_type *type = context;
    SCOPED(arena) struct arena arena = {0};
    struct outbound *outbound = NULL;
    struct pawl_error err = {0};
    struct outbound_options options = {
        .url = type->url,
        .headers = type->headers,
        .timeout_us = timeout_of(type, run),
        .reply_bytes_max = type->result_bytes_max + 1,  // so that it is seen that there was more
    };
    bool done = outbound_open(&outbound, &options, &err)
                  ? send(outbound, type, run, &arena)
                  : pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    outbound_close(outbound);
    return done;
}

void post_handler(const struct post_type *type, struct pawl_handler *handler)
{
    union {
        const struct post_type *ours;
        void *context;  // handlers may change theirs; this one does not
    } same = { .ours = type };
    *handler = (struct pawl_handler){
        .job_type = type->job_type,
        .prepare = prepare,
        .context = same.context,
    };
}
