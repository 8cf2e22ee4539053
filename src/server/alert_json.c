// Every message has kind, dedupe_key, at and text: a sentence that chat services show as it is.
#include "server/alert_json.h"

#include "base/json_put.h"
#include "model/fingerprint.h"

enum { MESSAGE_BYTES_MAX = 1 << 20, SHOWN_BYTES_MAX = 300 };

static struct str finished(const struct buf *out)
{
    return out->full ? S("") : buf_str(out);
}

// The beginning of an error, whole characters.
static struct str beginning(struct str text)
{
    size_t n = 0, step = 1;
    while (n < text.n && step > 0) {
        step = utf8_step((struct str){ text.s + n, text.n - n });
        if (n + step > SHOWN_BYTES_MAX)
            return (struct str){ text.s, n };
        n += step;
    }
    return (struct str){ text.s, n };
}

static struct str error_kind(const struct alert *a)
{
    return a->error_class.n ? a->error_class : a->failure_type;
}

static struct str sentence(struct arena *arena, const struct alert *a)
{
    struct str why = beginning(a->message);
    return str_format(arena, "Pawl: %s: %.*s %.*s%s%.*s%s%.*s", alert_kind_meaning(a->kind),
                      STR(a->job_type), STR(id_text(arena, a->job)), error_kind(a).n ? ", " : "",
                      STR(error_kind(a)), why.n ? ": " : "", STR(why));
}

static void put_error(struct buf *out, const struct alert *a)
{
    struct str pattern = error_pattern(out->arena, a->message);
    json_put_open(out, "error", '{');
    json_put_text(out, "class", a->error_class);
    json_put_text(out, "failure_type", a->failure_type);
    json_put_text(out, "message", a->message);
    json_put_text(out, "fingerprint", fingerprint(out->arena, a->job_type, error_kind(a), pattern));
    if (a->finish_detail.n)
        json_put_raw(out, "commit_phase", a->finish_detail);
    json_put_close(out, '}');
}

static void put_links(struct buf *out, const struct alert *a)
{
    struct str id = id_text(out->arena, a->job);
    struct str command = str_format(out->arena, "%s %.*s", alert_kind_look(a->kind), STR(id));
    const char *path = a->kind == ALERT_DEAD_LETTER ? "/v1/deadletter/" : "/v1/jobs/";
    json_put_open(out, "links", '{');
    json_put_text(out, "command", command);
    json_put_text(out, "api", str_format(out->arena, "%s%.*s", path, STR(id)));
    json_put_close(out, '}');
}

static void put_head(struct buf *out, struct str kind, struct str key, pawl_time at,
                     struct str text)
{
    json_put_open(out, NULL, '{');
    json_put_text(out, "kind", kind);
    json_put_text(out, "dedupe_key", key);
    json_put_time(out, "at", at);
    json_put_text(out, "text", text);
}

struct str alert_text(struct arena *arena, const struct alert *a, struct str runbook)
{
    struct buf out = buf_new(arena, MESSAGE_BYTES_MAX);
    put_head(&out, str_of(alert_kind_name(a->kind)), alert_key(arena, a->kind, a->job), a->at,
             sentence(arena, a));
    json_put_text(&out, "org_id", a->org_id);
    json_put_text(&out, "project_id", a->project_id);
    json_put_id(&out, "job_id", a->job);
    json_put_text(&out, "job_type", a->job_type);
    json_put_text(&out, "queue", a->queue);
    json_put_text(&out, "state", a->state);
    json_put_int(&out, "attempt", a->attempt);
    json_put_text(&out, "request_id", a->request_id);
    json_put_text(&out, "correlation_id", a->correlation_id);
    put_error(&out, a);
    json_put_text(&out, "runbook", runbook);
    put_links(&out, a);
    json_put_close(&out, '}');
    return finished(&out);
}

// ----- many

struct str alert_parcel_key(struct arena *arena, const struct parcel *parcel)
{
    struct str key = alert_key(arena, parcel->kind, parcel->job);
    return parcel->summary ? str_format(arena, "summary:%.*s", STR(key)) : key;
}

static void put_group(struct buf *out, const struct alert_group *group)
{
    json_put_open(out, NULL, '{');
    json_put_text(out, "kind", str_of(alert_kind_name(group->kind)));
    json_put_int(out, "count", group->count);
    json_put_text(out, "org_id", group->org_id);
    json_put_text(out, "job_type", group->job_type);
    json_put_text(out, "error_kind", group->error_kind);
    json_put_text(out, "fingerprint", group->fingerprint);
    json_put_text(out, "error_pattern", beginning(group->pattern));
    json_put_id(out, "job_id", group->job);
    json_put_close(out, '}');
}

struct str alert_summary_text(struct arena *arena, const struct parcel *parcel,
                              const struct alert_summary *s)
{
    struct buf out = buf_new(arena, MESSAGE_BYTES_MAX);
    struct str text = str_format(arena, "Pawl: %lld more alerts, of %zu%s kinds of error. The "
                                        "most frequent: %.*s, %lld times",
                                 (long long)s->count, s->group_count, s->others ? " and more" : "",
                                 STR(s->groups[0].job_type), (long long)s->groups[0].count);
    put_head(&out, S("summary"), alert_parcel_key(arena, parcel), parcel->at, text);
    json_put_int(&out, "count", s->count);
    json_put_open(&out, "groups", '[');
    for (size_t i = 0; i < s->group_count; i++)
        put_group(&out, &s->groups[i]);
    json_put_close(&out, ']');
    json_put_int(&out, "others", s->others);
    json_put_open(&out, "links", '{');
    json_put_text(&out, "command", S("pawl dead groups"));
    json_put_text(&out, "api", S("/v1/deadletter/groups"));
    json_put_close(&out, '}');
    json_put_close(&out, '}');
    return finished(&out);
}

struct str alert_test_text(struct arena *arena, struct str key, pawl_time at)
{
    struct buf out = buf_new(arena, MESSAGE_BYTES_MAX);
    put_head(&out, S("test"), key, at, S("Pawl: this is a test: alerts come through"));
    json_put_close(&out, '}');
    return finished(&out);
}
