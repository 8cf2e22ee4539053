// Finding the route of a request: a walk over the tables, part by part.
#include "server/route.h"

#include <string.h>

#include "server/feed.h"

static const struct routes *const tables[] = {
    &routes_jobs,
    &routes_change,
    &routes_history,
    &routes_leases,
    &routes_executions,
    &routes_steps,
    &routes_queues,
    &routes_limits,
    &routes_letters,
    &routes_batches,
    &routes_schedules,
    &routes_artifacts,
    &routes_keys,
    &routes_events,
    &routes_audit,
    &routes_annotations,
    &routes_system,
};

const struct route *route_at(size_t index)
{
    for (size_t i = 0; i < countof(tables); i++) {
        if (index < tables[i]->count)
            return &tables[i]->rows[index];
        index -= tables[i]->count;
    }
    return NULL;
}

static struct str next_part(struct str *path)
{
    struct str part, rest;
    str_cut(*path, '/', &part, &rest);
    *path = rest;
    return part;
}

// A part in braces takes any text but the empty one.
static bool matches(struct str pattern, struct str path, struct str *parts)
{
    size_t found = 0;
    while (pattern.n > 0 && path.n > 0) {
        struct str want = next_part(&pattern);
        struct str have = next_part(&path);
        bool named = str_starts(want, S("{"));
        if (named ? have.n == 0 : !str_eq(want, have))
            return false;
        if (named && found < PATH_PARTS_MAX)
            parts[found++] = have;
    }
    return pattern.n == 0 && path.n == 0;
}

// HEAD is there where GET is, and is the same route, which the protocol library answers without the
// body. Not for a stream: it has no end, and so no length.
static bool has_head(const struct route *route)
{
    return strcmp(route->method, "GET") == 0 && strcmp(route->schema, "EventStream") != 0;
}

static bool takes(const struct route *route, struct str method)
{
    return str_eq(method, str_of(route->method)) || (str_eq(method, S("HEAD")) && has_head(route));
}

const struct route *route_find(struct str method, struct str path, struct str *parts,
                               struct arena *arena, struct str *allowed)
{
    const struct route *route;
    *allowed = S("");
    bool slash = str_ends(path, S("/")) && path.n > 1;  // `/v1/jobs/` is not `/v1/jobs`
    for (size_t i = 0; !slash && (route = route_at(i)) != NULL; i++) {
        if (!matches(str_of(route->path), path, parts))
            continue;
        if (takes(route, method))
            return *allowed = S(""), route;
        *allowed = str_format(arena, "%.*s%s%s%s", STR(*allowed), allowed->n ? ", " : "",
                              route->method, has_head(route) ? ", HEAD" : "");
    }
    return NULL;
}
