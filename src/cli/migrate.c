// pawl migrate: every command that writes migrates by itself; this one does only that, and says so.
#include <stdio.h>

#include "cli/output.h"
#include "cli/session.h"

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

static json_t *versions_json(struct str store, const struct versions *v)
{
    return json_pack("{s:s%, s:I, s:I, s:i}", "store", store.s, store.n, "version_before",
                     (json_int_t)v->before, "version", (json_int_t)v->after, "version_known",
                     schema_version_known());
}

static bool print(struct cli *cli, const struct versions *v, struct pawl_error *err)
{
    struct str store = session_store(cli);
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, versions_json(store, v), err);
    printf("%.*s: schema version %lld", STR(safe(&cli->arena, store)), (long long)v->before);
    if (v->after != v->before)
        printf(" -> %lld", (long long)v->after);
    printf(" (%s)\n", remark(v));
    return true;
}

bool command_migrate(struct cli *cli, struct pawl_error *err)
{
    struct versions v;
    if (!look_before(cli, &v.before, err))
        return false;
    v.after = v.before;
    if (!cli->given[OPTION_STATUS] && !bring_up_to_date(cli, &v.after, err))
        return false;
    return print(cli, &v, err);
}
