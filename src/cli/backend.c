// Whoever names a store never touches the network, and whoever names both is asked which.
#include "cli/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/session.h"
#include "store/store_url.h"

enum { KEY_FILE_BYTES_MAX = 4096 };
#define PROBE_US MILLISECONDS(200)

static struct str environment(const char *name)
{
    return str_of(getenv(name));
}

// ----- the store

static bool use_store(struct cli *cli, struct pawl_error *err)
{
    static const enum option of_servers[] = { OPTION_KEY_FILE, OPTION_CACERT };
    for (size_t i = 0; i < countof(of_servers); i++)
        if (cli->given[of_servers[i]])
            return usage(cli, err, "--%s is for a server, and this works on a store: say --server "
                                   "URL too, or leave it out",
                         option_row(of_servers[i])->name);
    cli->backend = &backend_store;
    return true;
}

// ----- the server

static bool read_key_file(struct cli *cli, struct str *key, struct pawl_error *err)
{
    const char *path = str_cstr(&cli->arena, cli->value[OPTION_KEY_FILE]);
    char *bytes = arena_alloc(&cli->arena, KEY_FILE_BYTES_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 && bytes ? read(fd, bytes, KEY_FILE_BYTES_MAX) : -1;
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return fail(err, fd < 0 && why == ENOENT ? PAWL_NOT_FOUND : PAWL_STORE,
                    "cannot read the key file %s: %s", path, strerror(why));
    if (got == KEY_FILE_BYTES_MAX)
        return fail(err, PAWL_INVALID, "%s is too long to be a key file", path);
    *key = (struct str){ bytes, (size_t)got };
    while (key->n > 0 && strchr(" \t\r\n", key->s[key->n - 1]))
        key->n--;
    return true;
}

static bool read_key(struct cli *cli, struct str *key, struct pawl_error *err)
{
    *key = environment("PAWL_API_KEY");
    if (cli->given[OPTION_KEY_FILE] && !read_key_file(cli, key, err))
        return false;
    for (size_t i = 0; i < key->n; i++)
        if (key->s[i] <= ' ' || key->s[i] > '~')
            return fail(err, PAWL_INVALID, "what is in %s is no key: a key is one word of letters, "
                                           "digits and _",
                        cli->given[OPTION_KEY_FILE] ? "the key file" : "$PAWL_API_KEY");
    return true;
}

static const char *authorities(struct cli *cli)
{
    struct str set = environment("PAWL_CACERT");
    if (cli->given[OPTION_CACERT])
        set = cli->value[OPTION_CACERT];
    return set.n ? str_cstr(&cli->arena, set) : NULL;
}

static bool use_server(struct cli *cli, struct str url, struct pawl_error *err)
{
    struct client_options options = {
        .url = url,
        .request_id = cli->caller.request_id,
        .cacert = authorities(cli),
    };
    if (cli->given[OPTION_ORG])
        return usage(cli, err, "--org is for a store: a server takes the org from the key, "
                               "$PAWL_API_KEY or --key-file");
    cli->backend = &backend_server;
    return read_key(cli, &options.key, err) && client_open(&cli->client, &options, err);
}

// ----- the choice

// Whoever speaks for an org of his choice has the store, so nobody is asked over the network then.
static bool a_server_answers(const struct cli *cli)
{
    bool never = getenv("PAWL_SERVER") || cli->given[OPTION_ORG];
    return !never && client_answers(SERVER_DEFAULT, PROBE_US);
}

bool backend_choose(struct cli *cli, struct pawl_error *err)
{
    struct str server = environment("PAWL_SERVER"), store = environment("PAWL_STORE");
    if (cli->given[OPTION_SERVER] && cli->given[OPTION_STORE])
        return usage(cli, err, "--server and --store exclude each other");
    if (cli->given[OPTION_STORE])
        return use_store(cli, err);
    if (cli->given[OPTION_SERVER])
        return use_server(cli, cli->value[OPTION_SERVER], err);
    if (server.n && store.n)
        return usage(cli, err, "$PAWL_SERVER and $PAWL_STORE are both set: say --server URL or "
                               "--store URL");
    if (server.n)
        return use_server(cli, server, err);
    if (store.n == 0 && a_server_answers(cli))
        return use_server(cli, S(SERVER_DEFAULT), err);
    return use_store(cli, err);
}

// Not of `serve`, which is the server, and of `bench`, which makes a store of its own.
void backend_say_store(struct cli *cli)
{
    const struct command *command = cli->command;
    bool other = command_offers(command, OPTION_SERVER) || !command_offers(command, OPTION_STORE)
              || command_offers(command, OPTION_LISTEN) || command_offers(command, OPTION_MODE);
    if (other || cli->given[OPTION_STORE] || environment("PAWL_SERVER").n == 0)
        return;
    fprintf(stderr, "pawl: %s works on the store %.*s itself, not through $PAWL_SERVER\n",
            command->name,
            STR(safe(&cli->arena, url_shown(&cli->arena, session_store(cli)))));
}
