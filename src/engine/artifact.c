// Rows of artifacts: made, found and removed, each change with its audit event.
#include "engine/artifact.h"

#include <assert.h>
#include <string.h>

#include "base/json_put.h"
#include "base/list.h"
#include "engine/api_key.h"
#include "engine/event.h"
#include "engine/job.h"
#include "model/text_rule.h"
#include "store/blob.h"
#include "store/names.h"

enum { PAGE_MAX = 500 };

static struct str subject(struct tx *tx, struct id id)
{
    return str_format(tx->arena, "artifact:%.*s", STR(id_text(tx->arena, id)));
}

// ----- checking

// A name is shown, and somebody may save a file by it.
static bool is_file_name(struct str name)
{
    return name.n <= ARTIFACT_NAME_BYTES_MAX && text_is_key(name) && !memchr(name.s, '/', name.n)
        && !memchr(name.s, '\\', name.n) && !str_eq(name, S(".")) && !str_eq(name, S(".."));
}

static bool is_content_type(struct str type)
{
    bool slash = false;
    for (size_t i = 0; i < type.n; i++) {
        if (type.s[i] < ' ' || type.s[i] > '~')
            return false;
        slash |= type.s[i] == '/' && i > 0 && i + 1 < type.n;
    }
    return slash && type.n <= CONTENT_TYPE_BYTES_MAX;
}

void artifact_check(const struct caller *caller, struct artifact *artifact,
                    struct problems *problems)
{
    if (artifact->content_type.n == 0)
        artifact->content_type = CONTENT_TYPE_DEFAULT;
    if (artifact->name.n && !is_file_name(artifact->name))
        problem_add(problems, "name", "must be the name of a file: 1 to %d bytes of printable "
                                      "UTF-8 without a slash",
                    ARTIFACT_NAME_BYTES_MAX);
    if (!is_content_type(artifact->content_type))
        problem_add(problems, "Content-Type", "must be one such as text/csv, at most %d bytes",
                    CONTENT_TYPE_BYTES_MAX);
    if (artifact->project_id.n && !text_is_uuid(artifact->project_id))
        problem_add(problems, "project_id", "must be a UUID in lower case");
    const char *problem = caller_project(caller, &artifact->project_id);
    if (problem)
        problem_add(problems, "project_id", "%s", problem);
}

// ----- making

bool artifact_add(struct tx *tx, const struct blob *blob, struct artifact *a,
                  struct pawl_error *err)
{
    const struct caller *by = tx->caller ? tx->caller : &caller_pawl;
    a->file = str_dup(tx->arena, str_of(blob->name));
    a->sha256 = str_dup(tx->arena, str_of(blob->sha256));
    a->bytes = blob->bytes;
    a->made_by = str_dup(tx->arena, by->actor_id);
    a->created_at = tx->now;
    assert(a->sha256.n == HASH_DIGITS || tx->arena->failed);
    return org_intern(tx, a->org_id, &a->org, err) && id_make(tx, ID_ARTIFACT, &a->id, err)
        && sql_run(tx, Q_ARTIFACT_INSERT, err, INT(a->id.high), INT(a->id.low), INT(a->org),
                   TEXT_OR_NONE(a->project_id), TEXT(a->file), TEXT(a->sha256), INT(a->bytes),
                   TEXT(a->content_type), TEXT_OR_NONE(a->name), TEXT(a->made_by), INT(tx->now))
        && event_append_for(tx, a->org, subject(tx, a->id), EVENT_ARTIFACT_STORED, S(""), err);
}

// ----- finding

static bool read_row(struct tx *tx, struct rows *rows, struct artifact *a, struct pawl_error *err)
{
    *a = (struct artifact){0};
    a->id.high = row_int(rows);
    a->id.low = row_int(rows);
    a->org = row_int(rows);
    a->project_id = row_text(rows);
    a->file = row_text(rows);
    a->sha256 = row_text(rows);
    a->bytes = row_int(rows);
    a->content_type = row_text(rows);
    a->name = row_text(rows);
    a->made_by = row_text(rows);
    a->created_at = row_int(rows);
    a->job.high = row_int(rows);
    a->job.low = row_int(rows);
    a->execution.high = row_int(rows);
    a->execution.low = row_int(rows);
    a->authoritative = row_int(rows) != 0;
    return name_text(tx, NAME_ORG, a->org, &a->org_id, err);
}

bool artifact_load(struct tx *tx, struct id id, struct artifact *artifact, struct pawl_error *err)
{
    int64_t org = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!caller_org(tx, &org, err)
        || !sql_ask(tx, &rows, Q_ARTIFACT_LOAD, err, INT(id.high), INT(id.low), INT(org)))
        return false;
    bool found = rows_next(&rows);
    if (found && !read_row(tx, &rows, artifact, err))
        return false;
    if (found && caller_sees(tx->caller, artifact->project_id))
        return true;
    return rows_ok(&rows, err)
        && fail(err, PAWL_NOT_FOUND, "there is no artifact %.*s", STR(id_text(tx->arena, id)));
}

// Those the caller may see of the rows that are answered; `list->next` is the last that was read.
static bool read_rows(struct tx *tx, struct rows *rows, struct artifact_list *list, size_t *read,
                      struct pawl_error *err)
{
    struct list found = list_of(tx->arena, sizeof(struct artifact));
    for (*read = 0; rows_next(rows); (*read)++) {
        struct artifact *a = list_add(&found);
        if (!a)
            return fail(err, PAWL_NO_MEMORY, "no memory to list artifacts");
        if (!read_row(tx, rows, a, err))
            return false;
        list->next = a->id.high;
        if (!caller_sees(tx->caller, a->project_id))
            found.count--;
    }
    list->artifacts = found.items;
    list->count = found.count;
    return rows_ok(rows, err);
}

bool artifacts_find(struct tx *tx, int64_t before, int64_t limit, struct artifact_list *list,
                    struct pawl_error *err)
{
    int64_t org = 0;
    size_t read = 0;
    SCOPED(rows) struct rows rows = {0};
    *list = (struct artifact_list){0};
    if (limit < 1 || limit > PAGE_MAX)
        limit = PAGE_MAX;
    if (!caller_org(tx, &org, err)
        || !sql_ask(tx, &rows, Q_ARTIFACT_PAGE, err, INT(org), INT(before ? before : INT64_MAX),
                    INT(limit))
        || !read_rows(tx, &rows, list, &read, err))
        return false;
    if (read < (size_t)limit)
        list->next = 0;
    return true;
}

bool artifacts_of_job(struct tx *tx, int64_t job, struct artifact_list *list,
                      struct pawl_error *err)
{
    size_t read = 0;
    SCOPED(rows) struct rows rows = {0};
    *list = (struct artifact_list){0};
    return sql_ask(tx, &rows, Q_ARTIFACTS_OF_JOB, err, INT(job))
        && read_rows(tx, &rows, list, &read, err);
}

void artifact_put(struct buf *out, const struct artifact *a)
{
    json_put_id(out, "artifact_id", a->id);
    json_put_text(out, "org_id", a->org_id);
    json_put_text(out, "project_id", a->project_id);
    json_put_text(out, "sha256", a->sha256);
    json_put_int(out, "bytes", a->bytes);
    json_put_text(out, "content_type", a->content_type);
    json_put_text(out, "name", a->name);
    json_put_text(out, "made_by", a->made_by);
    json_put_time(out, "created_at", a->created_at);
    json_put_id(out, "job_id", a->job);
    json_put_id(out, "exec_id", a->execution);
    json_put_bool(out, "authoritative", a->authoritative);
}

json_t *artifact_json(struct arena *arena, const struct artifact *artifact)
{
    struct buf text = buf_new(arena, SIZE_MAX);
    json_put_open(&text, NULL, '{');
    artifact_put(&text, artifact);
    json_put_close(&text, '}');
    return text.full ? NULL : json_of(buf_str(&text));
}

// ----- removing

static bool remove_row(struct tx *tx, const struct artifact *a, struct pawl_error *err)
{
    return sql_run(tx, Q_ARTIFACT_DELETE, err, INT(a->id.high))
        && event_append_for(tx, a->org, subject(tx, a->id), EVENT_ARTIFACT_REMOVED, S(""), err);
}

static bool unused(struct tx *tx, pawl_time before, size_t limit, struct list *found,
                   struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ARTIFACTS_UNUSED, err, INT(before), INT((int64_t)limit)))
        return false;
    while (rows_next(&rows)) {
        struct artifact *a = list_add(found);
        if (!a)
            return fail(err, PAWL_NO_MEMORY, "no memory to remove artifacts");
        a->id.high = row_int(&rows);
        a->id.low = row_int(&rows);
        a->org = row_int(&rows);
        a->file = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

bool artifacts_remove_old(struct tx *tx, pawl_time before, size_t limit,
                          struct removed_files *removed, struct pawl_error *err)
{
    struct list found = list_of(tx->arena, sizeof(struct artifact));
    *removed = (struct removed_files){0};
    if (!unused(tx, before, limit, &found, err))
        return false;
    const struct artifact *all = found.items;
    removed->files = arena_new(tx->arena, struct str, found.count + 1);
    if (!removed->files)
        return fail(err, PAWL_NO_MEMORY, "no memory to remove artifacts");
    for (size_t i = 0; i < found.count; i++) {
        if (!remove_row(tx, &all[i], err))
            return false;
        removed->files[removed->count++] = all[i].file;
    }
    return true;
}

// Whoever sees an artifact sees the jobs that can need it: of its project or, of none, of its org.
static bool not_needed(struct tx *tx, struct id id, struct pawl_error *err)
{
    struct id job = {0};
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ARTIFACT_NEEDED_BY, err, INT(id.high)))
        return false;
    if (rows_next(&rows)) {
        job.high = row_int(&rows);
        job.low = row_int(&rows);
    }
    if (!rows_ok(&rows, err))
        return false;
    return job.high == 0
        || fail(err, PAWL_CONFLICT, "job %.*s needs artifact %.*s and has not ended",
                STR(id_text(tx->arena, job)), STR(id_text(tx->arena, id)));
}

bool artifact_remove(struct tx *tx, struct id id, struct artifact *artifact,
                     struct pawl_error *err)
{
    return artifact_load(tx, id, artifact, err) && not_needed(tx, id, err)
        && remove_row(tx, artifact, err);
}

bool artifacts_leave_job(struct tx *tx, int64_t job, struct pawl_error *err)
{
    return sql_run(tx, Q_ARTIFACTS_LEAVE_JOB, err, INT(job))
        && sql_run(tx, Q_ARTIFACT_INPUTS_DELETE, err, INT(job));
}
