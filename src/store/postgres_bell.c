// LISTEN on one channel for all stores of a database; who is told and who tells stands in the text.
//
// A session is connecting, or has asked to listen, or listens. What was told while it was none of
// these is lost, so it counts as news when it listens again.
#include "store/server_bell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/world.h"
#include "store/postgres.h"

#define CONNECT_US SECONDS(10)
#define PAUSE_US MILLISECONDS(100)  // before it is opened again; doubles ...
#define PAUSE_US_MAX SECONDS(2)     // ... up to this

enum stage { CLOSED,
             CONNECTING,
             ASKING,
             LISTENING };

struct server_bell {
    enum stage stage;
    PGconn *connection;
    short events;           // that it waits for while it connects
    int64_t until, pause;   // when it is given up, or opened again
    struct arena arena;
    struct server_url url;
    char self[BELL_NAME_BYTES];
    bool posted;
};

// ----- one session

static void give_up(struct server_bell *bell, int64_t now)
{
    pq.finish(bell->connection);
    bell->connection = NULL;
    bell->stage = CLOSED;
    bell->pause = bell->pause ? 2 * bell->pause : PAUSE_US;
    if (bell->pause > PAUSE_US_MAX)
        bell->pause = PAUSE_US_MAX;
    bell->until = now + bell->pause;
}

static void ask(struct server_bell *bell, int64_t now)
{
    bell->stage = ASKING;
    bell->until = now + CONNECT_US;
    if (!pq.sendQuery(bell->connection, "LISTEN " POSTGRES_CHANNEL))
        give_up(bell, now);
}

static void connect_on(struct server_bell *bell, int64_t now)
{
    PostgresPollingStatusType wants = pq.connectPoll(bell->connection);
    bell->events = wants == PGRES_POLLING_WRITING ? POLLOUT : POLLIN;
    if (wants == PGRES_POLLING_OK)
        ask(bell, now);
    else if (wants == PGRES_POLLING_FAILED)
        give_up(bell, now);
}

static void open_again(struct server_bell *bell, int64_t now)
{
    bell->connection = postgres_connect_start(&bell->url);
    bell->stage = CONNECTING;
    bell->events = POLLOUT;
    bell->until = now + CONNECT_US;
    if (!bell->connection || pq.status(bell->connection) == CONNECTION_BAD)
        give_up(bell, now);
}

// The whole answer to LISTEN: it listens, or the session is no good.
static void hear_answer(struct server_bell *bell, int64_t now)
{
    bool listens = false;
    while (!pq.isBusy(bell->connection)) {
        PGresult *result = pq.getResult(bell->connection);
        if (!result) {
            if (!listens) {
                give_up(bell, now);
                return;
            }
            bell->stage = LISTENING;
            bell->until = INT64_MAX;
            bell->pause = 0;
            return;
        }
        listens = pq.resultStatus(result) == PGRES_COMMAND_OK;
        pq.clear(result);
    }
}

// ----- what was told

// `schema` or `schema name`; the name is `posted` when a job came in SQL.
static bool is_news(struct server_bell *bell, const char *told)
{
    struct str schema, name;
    str_cut(str_of(told), ' ', &schema, &name);
    if (!str_eq(schema, str_of(bell->url.schema)))
        return false;
    bell->posted = bell->posted || str_eq(name, S("posted"));
    return !str_eq(name, str_of(bell->self));
}

static bool take_news(struct server_bell *bell)
{
    bool news = false;
    for (PGnotify *told; (told = pq.notifies(bell->connection));) {
        news = is_news(bell, told->extra) || news;
        pq.freemem(told);
    }
    return news;
}

// ----- the port

bool server_bell_look(struct server_bell *bell, int64_t now)
{
    enum stage before = bell->stage;
    if (before == CLOSED && now >= bell->until)
        open_again(bell, now);
    else if (before == CONNECTING)
        connect_on(bell, now);
    else if (before != CLOSED && !pq.consumeInput(bell->connection))
        give_up(bell, now);
    if (bell->stage == ASKING)
        hear_answer(bell, now);
    if (bell->stage != CLOSED && now >= bell->until)
        give_up(bell, now);
    if (bell->stage != LISTENING)
        return false;
    bell->posted = bell->posted || before != LISTENING;
    return take_news(bell) || before != LISTENING;
}

bool server_bell_posted(struct server_bell *bell)
{
    bool posted = bell->posted;
    bell->posted = false;
    return posted;
}

struct pollfd server_bell_poll(const struct server_bell *bell, int64_t *until)
{
    *until = bell->until;
    return (struct pollfd){
        .fd = bell->stage == CLOSED ? -1 : pq.socket(bell->connection),
        .events = bell->stage == CONNECTING ? bell->events : POLLIN,
    };
}

bool server_bell_hears(const struct server_bell *bell)
{
    return bell->stage == LISTENING;
}

static bool listen_now(struct server_bell *bell, struct pawl_error *err)
{
    bell->connection = postgres_connect(&bell->url, err);
    if (!bell->connection)
        return false;
    PGresult *result = pq.exec(bell->connection, "LISTEN " POSTGRES_CHANNEL);
    bool listens = pq.resultStatus(result) == PGRES_COMMAND_OK;
    pq.clear(result);
    bell->stage = LISTENING;
    bell->until = INT64_MAX;
    return listens
        || fail(err, PAWL_BUSY, "cannot listen for news of %s: %s", bell->url.shown,
                pq.errorMessage(bell->connection));
}

bool server_bell_open(struct server_bell **bell, struct str store_url, const char *name,
                      struct pawl_error *err)
{
    struct server_bell *b = calloc(1, sizeof *b);
    *bell = NULL;
    if (!b)
        return fail(err, PAWL_NO_MEMORY, "no memory for a bell");
    snprintf(b->self, sizeof b->self, "%s", name);
    if (!server_url_parse(&b->arena, store_url, &b->url, err) || !listen_now(b, err)) {
        server_bell_close(b);
        return false;
    }
    *bell = b;
    return true;
}

void server_bell_close(struct server_bell *bell)
{
    if (!bell)
        return;
    if (bell->connection)
        pq.finish(bell->connection);
    arena_end(&bell->arena);
    free(bell);
}
