// How it was closed is in the audit trail, and only there.
#include "server/letter_json.h"

#include "base/json_put.h"
#include "model/payload_diff.h"

void letter_put(struct buf *out, const struct letter *letter)
{
    json_put_text(out, "fingerprint", letter->fingerprint);
    json_put_text(out, "error_kind", letter->kind);
    json_put_text(out, "error_pattern", letter->pattern);
}

static void put_changes(struct buf *out, struct str before, struct str after)
{
    SCOPED(json) json_t *old = json_of(before), *new = json_of(after);
    SCOPED(json) json_t *changes = payload_diff(out->arena, old, new);
    out->full = out->full || !changes;
    json_put_raw(out, "changes", changes ? json_text(out->arena, changes) : S("null"));
}

static struct str closed_for(struct arena *arena, const struct audit_event *closing)
{
    SCOPED(json) json_t *detail = closing->detail.n ? json_of(closing->detail) : NULL;
    const json_t *reason = json_object_get(detail, "reason");
    struct str text = { json_string_value(reason), json_string_length(reason) };
    return text.s ? str_dup(arena, text) : S("");
}

void letter_record_put(struct buf *out, const struct letter_shown *shown)
{
    const struct letter_record *r = shown->record;
    const struct job *job = &r->letter.job, *successor = &r->successor;
    letter_put(out, &r->letter);
    json_put_text(out, "runbook", shown->runbook);
    json_put_open(out, "executions", '[');
    for (size_t i = 0; i < r->execution_count; i++) {
        json_put_open(out, NULL, '{');
        execution_put(out, &r->executions[i]);
        json_put_close(out, '}');
    }
    json_put_close(out, ']');
    json_put_time(out, "closed_at", r->closing.at);
    json_put_text(out, "closed_by", r->closing.actor_id);
    json_put_text(out, "closed_reason", closed_for(out->arena, &r->closing));
    json_put_id(out, "replaced_by", successor->id);
    if (successor->id.high && shown->payloads)
        put_changes(out, job->contract.payload, successor->contract.payload);
    else
        json_put_raw(out, "changes", S("null"));
}

static struct str whole(const struct buf *out)
{
    return out->full ? S("") : buf_str(out);
}

struct str letter_preview_text(struct arena *arena, const struct letter_fix *fix, bool payloads)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_bool(&out, "dry_run", true);
    if (payloads)
        put_changes(&out, fix->before, fix->after);
    else
        json_put_raw(&out, "changes", S("null"));
    json_put_close(&out, '}');
    return whole(&out);
}

struct str letter_groups_text(struct arena *arena, const struct letter_groups *groups)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "items", '[');
    for (size_t i = 0; i < groups->count; i++) {
        const struct letter_group *g = &groups->groups[i];
        json_put_open(&out, NULL, '{');
        json_put_text(&out, "fingerprint", g->fingerprint);
        json_put_text(&out, "job_type", g->job_type);
        json_put_text(&out, "error_kind", g->kind);
        json_put_text(&out, "error_pattern", g->pattern);
        json_put_int(&out, "count", g->count);
        json_put_time(&out, "oldest_at", g->oldest_at);
        json_put_time(&out, "newest_at", g->newest_at);
        json_put_id(&out, "newest_job_id", g->newest);
        json_put_close(&out, '}');
    }
    json_put_close(&out, ']');
    json_put_int(&out, "letters", groups->letters);
    json_put_bool(&out, "more", groups->more);
    json_put_close(&out, '}');
    return whole(&out);
}

struct str letter_sweep_text(struct arena *arena, const struct letter_sweep *sweep)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_bool(&out, "dry_run", sweep->dry_run);
    json_put_int(&out, "count", (int64_t)sweep->count);
    json_put_open(&out, "job_ids", '[');
    for (size_t i = 0; i < sweep->count; i++)
        json_put_id(&out, NULL, sweep->ids[i]);
    json_put_close(&out, ']');
    json_put_bool(&out, "more", sweep->more);
    json_put_close(&out, '}');
    return whole(&out);
}
