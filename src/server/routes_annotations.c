// Routes by which people add to the audit trail: a note to a job, or to one event.
#include "engine/annotate.h"
#include "server/event_json.h"
#include "server/route.h"

struct annotating {
    struct annotation annotation;
    struct str text;
    struct audit_event made;
};

static const struct field body[] = {
    FIELD(struct annotating, text, FIELD_TEXT, .required = true, .min = 1,
          .max = ANNOTATION_BYTES_MAX,
          .summary = "what is to be known; kept without its secrets, and for good"),
};

static bool job_prepare(struct exchange *x, struct pawl_error *err)
{
    struct annotating *a = x->data;
    a->annotation.text = a->text;
    return exchange_id(x, 0, &a->annotation.job, err);
}

static bool event_prepare(struct exchange *x, struct pawl_error *err)
{
    struct annotating *a = x->data;
    a->annotation.text = a->text;
    return str_int(x->path_parts[0], &a->annotation.event)
        || fail(err, PAWL_NOT_FOUND, "there is no such event");
}

static bool act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct annotating *a = x->data;
    return audit_annotate(tx, &a->annotation, &a->made, err);
}

static bool answer(struct exchange *x, struct pawl_error *err)
{
    const struct annotating *a = x->data;
    return exchange_answer(x, 201, event_json(&x->arena, &a->made), err);
}

#define ANNOTATES(where, first, text)                                                        \
    {                                                                                             \
        .method = "POST", .path = (where), .permission = MAY_CHANGE, .kind = ROUTE_WRITE,         \
        .summary = (text), .data_bytes = sizeof(struct annotating), .body = FIELDS(body),         \
        .body_size = BODY_SMALL, .prepare = (first), .act = act, .answer = answer,                \
        .schema = "Event", .statuses = { 201, 404, 422 },                                         \
    }

static const struct route rows[] = {
    ANNOTATES("/v1/jobs/{id}/annotations", job_prepare,
              "Adds a note to the audit trail of a job: an event, sealed like any other."),
    ANNOTATES("/v1/audit/{id}/annotations", event_prepare,
              "Adds a note to one event of the audit trail."),
};
const struct routes routes_annotations = { rows, countof(rows) };
