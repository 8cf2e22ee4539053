// Whoever may not read an event may not annotate it: it is found as the caller's own list finds it.
#include "engine/annotate.h"

#include <string.h>

#include "base/json_put.h"
#include "engine/job.h"
#include "model/redact.h"
#include "store/names.h"

static bool text_fits(struct str text, struct pawl_error *err)
{
    if (text.n >= 1 && text.n <= ANNOTATION_BYTES_MAX && utf8_valid(text)
        && !memchr(text.s, 0, text.n))
        return true;
    return fail(err, PAWL_INVALID, "text: must be UTF-8 of 1 to %d bytes, without NUL",
                ANNOTATION_BYTES_MAX);
}

static struct str detail_of(struct tx *tx, const struct annotation *annotation)
{
    struct buf detail = buf_new(tx->arena, SIZE_MAX);
    json_put_open(&detail, NULL, '{');
    if (annotation->event)
        json_put_int(&detail, "event_id", annotation->event);
    json_put_text(&detail, "text",
                  redact_error(tx->arena, annotation->text, ANNOTATION_BYTES_MAX));
    json_put_close(&detail, '}');
    return buf_str(&detail);
}

// The one event that `filter` leaves, as the caller sees it.
static bool find_one(struct tx *tx, struct event_filter filter, struct audit_event *event,
                     struct pawl_error *err)
{
    struct event_list list;
    filter.limit = 1;
    if (!events_of_org(tx, &filter, &list, err))
        return false;
    if (list.count == 0)
        return fail(err, PAWL_NOT_FOUND, "there is no such event");
    *event = list.events[0];
    return true;
}

// Retention may have removed the job of an event. PAWL_OK in `why`: nothing went wrong.
static bool job_is_there(struct tx *tx, struct id id, struct job *job, bool *there,
                         struct pawl_error *err)
{
    struct pawl_error why = {0};
    *there = id.high != 0 && job_load(tx, id, job, &why);
    return *there || why.code == PAWL_OK || why.code == PAWL_NOT_FOUND
        || fail(err, why.code, "%s", why.message);
}

static bool append(struct tx *tx, const struct annotation *annotation, struct pawl_error *err)
{
    struct str detail = detail_of(tx, annotation);
    struct audit_event event = { .job = annotation->job };
    struct job job;
    bool there = false;
    int64_t org = 0, id = annotation->event;
    if (event.job.high)
        return job_load(tx, event.job, &job, err)
            && event_append(tx, job_subject(&job), EVENT_JOB_ANNOTATED, detail, err);
    if (id <= 0 || id == INT64_MAX)
        return fail(err, PAWL_NOT_FOUND, "there is no such event");
    if (!find_one(tx, (struct event_filter){ .before = id + 1, .after = id - 1 }, &event, err)
        || !job_is_there(tx, event.job, &job, &there, err))
        return false;
    if (there)
        return event_append(tx, job_subject(&job), EVENT_JOB_ANNOTATED, detail, err);
    struct str subject = str_format(tx->arena, "event:%lld", (long long)id);
    return (event.org_id.n == 0 || name_find(tx, NAME_ORG, event.org_id, &org, err))
        && event_append_for(tx, org, subject, EVENT_AUDIT_ANNOTATED, detail, err);
}

bool audit_annotate(struct tx *tx, const struct annotation *annotation, struct audit_event *made,
                    struct pawl_error *err)
{
    // Nobody else writes meanwhile: what was appended is the newest.
    return text_fits(annotation->text, err) && append(tx, annotation, err)
        && find_one(tx, (struct event_filter){0}, made, err);
}
