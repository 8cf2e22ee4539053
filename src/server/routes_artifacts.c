// Routes of artifacts: bytes come in and go out as a stream, what is known of them is JSON.
#include <string.h>

#include "base/json_put.h"
#include "engine/artifact.h"
#include "server/job_view.h"
#include "server/server.h"
#include "store/blob.h"

enum { PAGE_ARTIFACTS = 50, PAGE_ARTIFACTS_MAX = 500 };

static bool answer_object(struct exchange *x, int status, const struct artifact *artifact,
                          struct pawl_error *err)
{
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    artifact_put(&out, artifact);
    json_put_close(&out, '}');
    return exchange_answer_text(x, status, &out, err);
}

// ----- upload

struct upload {
    struct str name, project_id;
    struct blob blob;
    struct artifact artifact;
    bool acted;  // its row was written, and counts if the transaction was committed
};

static const struct field upload_query[] = {
    FIELD(struct upload, name, FIELD_TEXT, .min = 1, .max = ARTIFACT_NAME_BYTES_MAX,
          .summary = "what people call it: the name of a file"),
    FIELD(struct upload, project_id, FIELD_TEXT, .summary = "the project it belongs to"),
};

static bool upload_begin(struct exchange *x, struct pawl_error *err)
{
    struct upload *u = x->data;
    u->artifact = (struct artifact){
        .org_id = x->caller.org_id,
        .project_id = u->project_id,
        .name = u->name,
        .content_type = x->sent_type,
    };
    artifact_check(&x->caller, &u->artifact, &x->problems);
    if (x->sent_sha256.n
        && (x->sent_sha256.n != HASH_DIGITS
            || strspn(x->sent_sha256.s, "0123456789abcdef") != HASH_DIGITS))
        problem_add(&x->problems, "X-Content-SHA256", "must be %d digits 0-9 a-f", HASH_DIGITS);
    return problems_none(&x->problems, err)
        && blob_create(x->server->files, x->server->pawl->world, &u->blob, err);
}

// What is wrong is said with the first bytes, before all the others. What is refused is gone before
// that is answered.
static bool upload_take(struct exchange *x, const char *bytes, size_t n, struct pawl_error *err)
{
    struct upload *u = x->data;
    if ((u->blob.open || upload_begin(x, err)) && blob_write(&u->blob, bytes, n, err))
        return true;
    blob_drop(&u->blob);
    return false;
}

static bool upload_prepare(struct exchange *x, struct pawl_error *err)
{
    struct upload *u = x->data;
    return u->blob.open || upload_begin(x, err);
}

static bool settle(struct exchange *x, struct upload *u, struct pawl_error *err)
{
    if (!blob_settle(&u->blob, err))
        return false;
    if (x->sent_sha256.n && !str_eq(x->sent_sha256, str_of(u->blob.sha256)))
        problem_add(&x->problems, "X-Content-SHA256", "is not that of what arrived, %s",
                    u->blob.sha256);
    return problems_none(&x->problems, err);
}

static bool upload_settle(struct exchange *x, struct pawl_error *err)
{
    struct upload *u = x->data;
    if (settle(x, u, err))
        return true;
    blob_drop(&u->blob);
    return false;
}

static bool upload_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct upload *u = x->data;
    u->acted = true;
    return artifact_add(tx, &u->blob, &u->artifact, err);
}

static bool upload_answer(struct exchange *x, struct pawl_error *err)
{
    struct upload *u = x->data;
    struct str id = id_text(&x->arena, u->artifact.id);
    x->location = str_format(&x->arena, "/v1/artifacts/%.*s", STR(id)).s;
    return answer_object(x, 201, &u->artifact, err);
}

// The client may have left before it could be answered: whether there is a row counts. Where nobody
// knows, the file stays, and is removed later if there is none (artifacts_tidy).
static void upload_ended(struct exchange *x, bool sent)
{
    struct upload *u = x->data;
    enum pawl_code code = x->operation.error.code;
    (void)sent;
    if (u && u->acted && (code == PAWL_OK || code == PAWL_IN_DOUBT))
        blob_keep(&u->blob);
    else if (u)
        blob_drop(&u->blob);
}

// ----- one

struct one_artifact {
    struct id id;
    struct artifact artifact;
};

static bool one_prepare(struct exchange *x, struct pawl_error *err)
{
    struct one_artifact *o = x->data;
    return exchange_id(x, 0, &o->id, err);
}

static bool one_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_artifact *o = x->data;
    return artifact_load(tx, o->id, &o->artifact, err);
}

static bool one_answer(struct exchange *x, struct pawl_error *err)
{
    const struct one_artifact *o = x->data;
    return answer_object(x, 200, &o->artifact, err);
}

// ----- download

// Bytes are what payloads are: for whoever may see those.
static bool bytes_prepare(struct exchange *x, struct pawl_error *err)
{
    if (!role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload))
        return fail(err, PAWL_FORBIDDEN, "the role %s may not see payloads, and so no artifacts",
                    role_name(x->identity.role));
    return one_prepare(x, err);
}

// As RFC 6266 has it: saved, never shown, under its name in UTF-8.
static const char *disposition(struct arena *arena, struct str name)
{
    struct buf out = buf_new(arena, (size_t)3 * ARTIFACT_NAME_BYTES_MAX + 64);
    buf_add(&out, S("attachment"));
    buf_add(&out, name.n ? S("; filename*=UTF-8''") : S(""));
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.s[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                  || c == '.' || c == '-' || c == '_';
        if (plain)
            buf_add_char(&out, (char)c);
        else
            buf_addf(&out, "%%%02X", c);
    }
    return str_cstr(arena, buf_str(&out));
}

static bool bytes_answer(struct exchange *x, struct pawl_error *err)
{
    const struct one_artifact *o = x->data;
    const struct artifact *a = &o->artifact;
    struct pawl_error why = {0};
    if (!blob_open(x->server->files, a->file, a->bytes, &x->file, &why))
        return fail(err, why.code, "artifact %.*s: %s", STR(id_text(&x->arena, a->id)),
                    why.message);
    x->has_file = true;
    x->file_bytes = a->bytes;
    x->status = 200;
    x->content_type = str_cstr(&x->arena, a->content_type);
    x->headers[0].name = "ETag";
    x->headers[0].value = str_format(&x->arena, "\"%.*s\"", STR(a->sha256)).s;
    x->headers[1].name = "Content-Disposition";
    x->headers[1].value = disposition(&x->arena, a->name);
    x->headers[2].name = "X-Content-SHA256";
    x->headers[2].value = str_cstr(&x->arena, a->sha256);
    x->headers[3].name = "Content-Security-Policy";
    x->headers[3].value = "sandbox";
    return true;
}

// ----- remove

static bool remove_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_artifact *o = x->data;
    return artifact_remove(tx, o->id, &o->artifact, err);
}

// The row first: a file that is left without one is removed by the next start (artifacts_tidy).
// Whoever is just fetching it has it open and gets all of it.
static void remove_ended(struct exchange *x, bool sent)
{
    const struct one_artifact *o = x->data;
    struct pawl_error err;
    (void)sent;
    if (o && o->artifact.file.n && x->operation.error.code == PAWL_OK)
        (void)!blob_remove(x->server->files, o->artifact.file, &err);
}

// ----- lists

struct listing {
    int64_t limit, before;
    struct str cursor;
    struct one_job one;
    struct artifact_list list;
};

static const struct field list_query[] = {
    FIELD(struct listing, limit, FIELD_NUMBER, .min = 1, .max = PAGE_ARTIFACTS_MAX,
          .summary = "how many at most"),
    FIELD(struct listing, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool list_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    exchange_cursor(x, l->cursor, &l->before);
    return problems_none(&x->problems, err);
}

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return artifacts_find(tx, l->before, l->limit ? l->limit : PAGE_ARTIFACTS, &l->list, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    const struct listing *l = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "items", '[');
    for (size_t i = 0; i < l->list.count; i++) {
        json_put_open(&out, NULL, '{');
        artifact_put(&out, &l->list.artifacts[i]);
        json_put_close(&out, '}');
    }
    json_put_close(&out, ']');
    json_put_text(&out, "next_cursor", exchange_next_cursor(x, l->list.next));
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

static bool of_job_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    return exchange_id(x, 0, &l->one.id, err);
}

static bool of_job_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    bool read = job_load(tx, l->one.id, &l->one.job, err)
             && artifacts_of_job(tx, l->one.id.high, &l->list, err);
    l->list.next = 0;
    return read;
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/artifacts", .permission = MAY_ARTIFACT, .kind = ROUTE_WRITE,
        .summary = "Stores the bytes of the body; with X-Content-SHA256, only if they have it.",
        .data_bytes = sizeof(struct upload), .query = FIELDS(upload_query),
        .body_size = BODY_STREAM, .body_schema = "Bytes", .take = upload_take,
        .prepare = upload_prepare, .settle = upload_settle, .act = upload_act,
        .answer = upload_answer, .ended = upload_ended,
        .schema = "Artifact", .statuses = { 201, 422 },
    },
    {
        .method = "GET", .path = "/v1/artifacts", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "Artifacts, newest first. A page may be short and have a next one.",
        .data_bytes = sizeof(struct listing), .query = FIELDS(list_query),
        .prepare = list_prepare, .act = list_act, .answer = list_answer,
        .schema = "ArtifactPage", .statuses = { 200, 422 },
    },
    {
        .method = "GET", .path = "/v1/artifacts/{id}", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "The bytes of an artifact, for who may see payloads; ETag is their SHA-256.",
        .data_bytes = sizeof(struct one_artifact),
        .prepare = bytes_prepare, .act = one_act, .answer = bytes_answer,
        .schema = "Bytes", .statuses = { 200, 404 },
    },
    {
        .method = "DELETE", .path = "/v1/artifacts/{id}", .permission = MAY_CHANGE,
        .kind = ROUTE_WRITE,
        .summary = "Removes an artifact, unless a job that has not ended needs it.",
        .data_bytes = sizeof(struct one_artifact),
        .prepare = one_prepare, .act = remove_act, .answer = one_answer, .ended = remove_ended,
        .schema = "Artifact", .statuses = { 200, 404, 409 },
    },
    {
        .method = "GET", .path = "/v1/artifacts/{id}/about", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "What is known of an artifact.",
        .data_bytes = sizeof(struct one_artifact),
        .prepare = one_prepare, .act = one_act, .answer = one_answer,
        .schema = "Artifact", .statuses = { 200, 404 },
    },
    {
        .method = "GET", .path = "/v1/jobs/{id}/artifacts", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "The artifacts that the job's commit brought.",
        .data_bytes = sizeof(struct listing),
        .prepare = of_job_prepare, .act = of_job_act, .answer = list_answer,
        .schema = "ArtifactPage", .statuses = { 200, 404 },
    },
};
const struct routes routes_artifacts = { rows, countof(rows) };
