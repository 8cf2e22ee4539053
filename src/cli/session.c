// The caller is the person at the keyboard: no command can speak for somebody else.
#include "cli/session.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/text_rule.h"

static bool names_somebody(struct str name)
{
    return name.n <= KEY_BYTES_MAX && text_is_key(name);
}

static struct str login_name(struct arena *arena)
{
    const struct passwd *user = getpwuid(getuid());
    struct str name = str_of(user ? user->pw_name : getenv("USER"));
    return names_somebody(name) ? str_dup(arena, name)
                                : str_format(arena, "uid-%lu", (unsigned long)getuid());
}

void session_caller(struct cli *cli)
{
    struct id request = id_after(0, world_wall(cli->world), world_random(cli->world));
    struct str request_id = id_text(&cli->arena, request);
    cli->caller = (struct caller){
        .org_id = cli->given[OPTION_ORG] ? cli->value[OPTION_ORG] : DEFAULT_ORG,
        .actor_type = ACTOR_USER,
        .actor_id = login_name(&cli->arena),
        .request_id = request_id,
        .correlation_id = request_id,
    };
}

struct str session_store(const struct cli *cli)
{
    const char *set = getenv("PAWL_STORE");
    if (cli->given[OPTION_STORE])
        return cli->value[OPTION_STORE];
    return set && *set ? str_of(set) : S("sqlite:pawl.db");
}

bool session_open(struct cli *cli, enum store_use use, struct pawl_error *err)
{
    session_close(cli);
    struct db_options options = {
        .url = session_store(cli),
        .world = cli->world,
        .read_only = use == STORE_READ || use == STORE_LOOK,
        .must_exist = use != STORE_CREATE,
        .any_version = use == STORE_LOOK,
    };
    return db_open(&cli->db, &options, err);
}

void session_close(struct cli *cli)
{
    db_close(cli->db);
    cli->db = NULL;
}

bool session_config(struct cli *cli, struct config *config, struct pawl_error *err)
{
    struct yaml_faults faults;
    if (cli->given[OPTION_CONFIG])
        return config_load(&cli->arena, str_cstr(&cli->arena, cli->value[OPTION_CONFIG]), config,
                           &faults, err);
    *config = config_default(&cli->arena);
    return true;
}

bool session_begin(struct cli *cli, enum tx_mode mode, struct arena *arena, struct tx *tx,
                   struct pawl_error *err)
{
    if (!tx_begin(cli->db, mode, arena, tx, err))
        return false;
    tx->caller = &cli->caller;
    return true;
}
