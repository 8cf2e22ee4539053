// One line per field, in its order.
#include "server/batch_json.h"

#include "base/json_put.h"

void batch_put(struct buf *out, const struct job_batch *b)
{
    int64_t ended = b->succeeded + b->failed + b->timed_out;
    json_put_id(out, "batch_id", b->id);
    json_put_text(out, "name", b->name);
    json_put_text(out, "org_id", b->org_id);
    json_put_text(out, "project_id", b->project_id);
    json_put_text(out, "idempotency_key", b->idempotency_key);
    json_put_time(out, "created_at", b->created_at);
    json_put_time(out, "ended_at", b->ended_at);
    json_put_bool(out, "done", b->ended_at != 0);
    json_put_int(out, "jobs", b->jobs);
    json_put_int(out, "pending", b->jobs - ended);
    json_put_int(out, "succeeded", b->succeeded);
    json_put_int(out, "failed", b->failed);
    json_put_int(out, "timed_out", b->timed_out);
    json_put_int(out, "percent", b->jobs ? ended * 100 / b->jobs : 0);
    json_put_text(out, "callback_type", b->callback.job_type);
    json_put_id(out, "callback_job_id", b->callback_job);
}

struct str batch_text(struct arena *arena, const struct job_batch *batch)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    batch_put(&out, batch);
    json_put_close(&out, '}');
    return out.full ? S("") : buf_str(&out);
}
