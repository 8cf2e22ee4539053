// pawl migrate: every command that writes migrates by itself; this one does only that, and says so.
#include <stdio.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "engine/rehearse.h"
#include "store/store_url.h"

struct versions {
    int64_t before, after;
};

static bool look(struct cli *cli, int64_t *version, struct pawl_error *err)
{
    return session_open(cli, STORE_LOOK, err) && schema_version(cli->db, version, err);
}

static bool look_before(struct cli *cli, int64_t *version, struct pawl_error *err)
{
    *version = 0;
    return look(cli, version, err)
        || (err->code == PAWL_NOT_FOUND && !cli->given[OPTION_STATUS]);
}

static bool bring_up_to_date(struct cli *cli, int64_t *version, struct pawl_error *err)
{
    return session_open(cli, STORE_CREATE, err) && schema_version(cli->db, version, err);
}

static const char *remark(const struct versions *v)
{
    int known = schema_version_known();
    if (v->after > known)
        return "made by a newer pawl";
    if (v->after < known)
        return "`pawl migrate` brings it up to date";
    if (v->before == v->after)
        return "up to date";
    return v->before == 0 ? "created" : "migrated";
}

// What `pawl migrate` would apply, or has applied: the names without their digests.
static json_t *steps_json(int64_t after, int64_t up_to)
{
    json_t *steps = json_array();
    for (const struct migration_row *row = migrations; row->version; row++) {
        struct str name, digest;
        str_cut(str_of(row->in[DIALECT_SQLITE].name), ' ', &name, &digest);
        if (row->version > after && row->version <= up_to)
            json_array_append_new(steps, json_pack("{s:i, s:s%}", "version", row->version, "name",
                                                   name.s, name.n));
    }
    return steps;
}

static json_t *versions_json(struct str store, const struct versions *v)
{
    return json_pack("{s:s%, s:I, s:I, s:i, s:o, s:o}", "store", store.s, store.n,
                     "version_before", (json_int_t)v->before, "version", (json_int_t)v->after,
                     "version_known", schema_version_known(), "applied",
                     steps_json(v->before, v->after), "pending",
                     steps_json(v->after, schema_version_known()));
}

static void print_steps(const char *what, int64_t after, int64_t up_to)
{
    for (const struct migration_row *row = migrations; row->version; row++) {
        struct str name, digest;
        str_cut(str_of(row->in[DIALECT_SQLITE].name), ' ', &name, &digest);
        if (row->version > after && row->version <= up_to)
            printf("  %s %04d %.*s\n", what, row->version, STR(name));
    }
}

static bool print(struct cli *cli, const struct versions *v, struct pawl_error *err)
{
    struct str store = url_shown(&cli->arena, session_store(cli));
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, versions_json(store, v), err);
    printf("%.*s: schema version %lld", STR(safe(&cli->arena, store)), (long long)v->before);
    if (v->after != v->before)
        printf(" -> %lld", (long long)v->after);
    printf(" (%s)\n", remark(v));
    if (v->before > 0)
        print_steps("applied", v->before, v->after);
    print_steps("pending", v->after, schema_version_known());
    return true;
}

// ----- on a copy

static void at_progress(void *self, int64_t done, int64_t total)
{
    progress_show(self, done, total);
}

static void at_violation(void *self, const struct violation *violation)
{
    SCOPED(arena) struct arena arena = {0};
    progress_hide(self);
    fprintf(stderr, "pawl: %s: %.*s\n", violation->invariant,
            STR(safe(&arena, violation->detail.n ? violation->detail : violation->job_id)));
}

static bool print_rehearsal(struct cli *cli, const struct rehearsal_report *r,
                            struct pawl_error *err)
{
    struct str store = url_shown(&cli->arena, session_store(cli));
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena,
                          json_pack("{s:s%, s:b, s:I, s:I, s:o, s:I, s:I, s:I}", "store", store.s,
                                    store.n, "dry_run", 1, "version_before",
                                    (json_int_t)r->before, "version", (json_int_t)r->after,
                                    "pending", steps_json(r->before, r->after), "took_ms",
                                    (json_int_t)(r->took_us / MILLISECONDS(1)), "jobs",
                                    (json_int_t)r->found.jobs, "violations",
                                    (json_int_t)r->found.violations),
                          err);
    printf("%.*s: schema version %lld -> %lld on a copy, in %lld ms: %lld jobs, %lld violations\n",
           STR(safe(&cli->arena, store)), (long long)r->before, (long long)r->after,
           (long long)(r->took_us / MILLISECONDS(1)), (long long)r->found.jobs,
           (long long)r->found.violations);
    print_steps("pending", r->before, r->after);
    return true;
}

static bool rehearse(struct cli *cli, struct pawl_error *err)
{
    struct progress_bar bar = { .world = cli->world, .what = "dry run" };
    struct rehearsal rehearsal = {
        .store = session_store(cli),
        .world = cli->world,
        .audience = { .self = &bar, .progress = at_progress, .found = at_violation },
    };
    struct rehearsal_report report;
    bool done = migration_rehearse(&rehearsal, &report, err);
    progress_hide(&bar);
    if (!done)
        return false;
    cli->status = report.found.violations > 0 ? 1 : 0;
    return print_rehearsal(cli, &report, err);
}

bool command_migrate(struct cli *cli, struct pawl_error *err)
{
    struct versions v;
    if (cli->given[OPTION_DRY_RUN])
        return rehearse(cli, err);
    if (!look_before(cli, &v.before, err))
        return false;
    v.after = v.before;
    if (!cli->given[OPTION_STATUS] && !bring_up_to_date(cli, &v.after, err))
        return false;
    return print(cli, &v, err);
}
