// What people see of limits: an org sees those that hold for it, and what of its own runs.
#include "base/list.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "model/json_field.h"

// Whether what runs may be told: of a queue or a type to who sees every org, of an org to itself.
static bool tells_use(const struct tx *tx, int64_t org, const struct limit_row *row)
{
    if (row->scope == LIMIT_KEY || row->limit.max_running == 0 || caller_limited(tx))
        return false;
    return row->scope == LIMIT_ORG ? row->subject != 0 || org != 0 : org == 0;
}

static bool add_use(struct tx *tx, int64_t org, const struct limit_row *row, struct limit_use **use,
                    struct pawl_error *err)
{
    int64_t subject = row->scope == LIMIT_ORG && row->subject == 0 ? org : row->subject;
    *use = NULL;
    if (!tells_use(tx, org, row))
        return true;
    *use = arena_new(tx->arena, struct limit_use, 1);
    if (!*use)
        return fail(err, PAWL_NO_MEMORY, "no memory to list limits");
    return limit_use(tx, &(struct limited){ .scope = row->scope, .subject = subject }, *use, err);
}

bool limits_view(struct tx *tx, struct limits_view *view, struct pawl_error *err)
{
    struct limit_row *rows = NULL;
    size_t count = 0;
    int64_t org = 0;
    *view = (struct limits_view){0};
    if (!caller_org(tx, &org, err) || !limits_list(tx, &rows, &count, err)
        || !type_pauses(tx, &view->pauses, &view->pause_count, err))
        return false;
    view->uses = arena_new(tx->arena, struct limit_use *, count + 1);
    view->rows = rows;
    if (!view->uses)
        return fail(err, PAWL_NO_MEMORY, "no memory to list limits");
    for (size_t i = 0; i < count; i++) {
        bool foreign = org != 0 && rows[i].scope == LIMIT_ORG && rows[i].subject != 0
                    && rows[i].subject != org;
        if (foreign)
            continue;
        rows[view->count] = rows[i];
        if (!add_use(tx, org, &rows[view->count], &view->uses[view->count], err))
            return false;
        view->count++;
    }
    return true;
}

json_t *limits_view_json(struct arena *arena, const struct limits_view *view)
{
    json_t *limits = json_array(), *pauses = json_array();
    for (size_t i = 0; i < view->count; i++)
        json_array_append_new(limits, limit_json(arena, &view->rows[i], view->uses[i]));
    for (size_t i = 0; i < view->pause_count; i++)
        json_array_append_new(pauses, type_pause_json(arena, &view->pauses[i]));
    const struct json_field fields[] = { { "limits", limits }, { "pauses", pauses } };
    return json_object_of(fields, countof(fields));
}
