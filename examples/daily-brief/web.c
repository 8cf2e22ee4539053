// The page of the Daily Brief: a process of its own that shows what the worker has stored.
//
//     brief-web [--store URL] [--listen HOST:PORT]
//
//     /  /?day=2026-03-14   the brief        /brief.json   the same as JSON
//     /style.css            its style        /healthz      200 when the store can be read
//
// It opens the store's file for reading only, for each request anew, and is not linked with a
// scheduler: it never runs a job and never writes (SLOT-1).
//
// Exit status: 0 told to end, 1 it cannot start, 2 bad usage.
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edition.h"
#include "page.h"
#include "sql.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))

enum { CONNECTIONS_MAX = 200, SILENT_S = 10, PORT = 7320 };

struct answer {
    unsigned status;
    const char *type;
    char *body;  // to be freed
    size_t length;
};

// ----- what is asked for

static void say(struct answer *answer, unsigned status, const char *title, const char *message)
{
    *answer = (struct answer){ .status = status, .type = "text/html; charset=utf-8" };
    answer->body = page_message(title, message, &answer->length);
}

// The edition of the day that is asked for, or an answer that says why there is none.
static json_t *find(const char *store, const char *day, struct answer *answer)
{
    struct pawl_error err = {0};
    sqlite3 *db = sql_open_reader(store, &err);
    json_t *edition = db ? edition_load(db, day, time(NULL), &err) : NULL;
    sqlite3_close(db);
    if (edition)
        return edition;
    if (err.code == PAWL_INVALID)
        say(answer, MHD_HTTP_BAD_REQUEST, "no such day", err.message);
    else
        say(answer, MHD_HTTP_SERVICE_UNAVAILABLE, "not yet", "There is no brief to show yet.");
    return NULL;
}

static void show_page(const char *store, const char *day, struct answer *answer)
{
    json_t *edition = find(store, day, answer);
    if (!edition)
        return;
    *answer = (struct answer){ .status = MHD_HTTP_OK, .type = "text/html; charset=utf-8" };
    answer->body = page_edition(edition, &answer->length);
    json_decref(edition);
}

static void show_json(const char *store, const char *day, struct answer *answer)
{
    json_t *edition = find(store, day, answer);
    if (!edition)
        return;
    *answer = (struct answer){ .status = MHD_HTTP_OK, .type = "application/json" };
    answer->body = json_dumps(edition, JSON_INDENT(2));
    answer->length = answer->body ? strlen(answer->body) : 0;
    json_decref(edition);
}

static void show_style(const char *store, const char *day, struct answer *answer)
{
    (void)store, (void)day;
    *answer = (struct answer){ .status = MHD_HTTP_OK, .type = "text/css; charset=utf-8" };
    answer->body = strdup(page_style);
    answer->length = strlen(page_style);
}

static void show_health(const char *store, const char *day, struct answer *answer)
{
    (void)day;
    json_t *edition = find(store, NULL, answer);
    bool good = edition != NULL;
    json_decref(edition);
    if (!good)
        free(answer->body);
    *answer = (struct answer){ .status = good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                               .type = "text/plain; charset=utf-8" };
    answer->body = strdup(good ? "ok\n" : "the store cannot be read\n");
    answer->length = answer->body ? strlen(answer->body) : 0;
}

static const struct {
    const char *path;
    void (*show)(const char *store, const char *day, struct answer *answer);
} routes[] = {
    { "/", show_page },
    { "/brief.json", show_json },
    { "/style.css", show_style },
    { "/healthz", show_health },
};

// ----- how it is answered

static const char *const headers[][2] = {
    { "Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none';"
                                 " form-action 'none'; frame-ancestors 'none'" },
    { "X-Content-Type-Options", "nosniff" },
    { "Referrer-Policy", "no-referrer" },
    { "Cache-Control", "no-cache" },
};

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct answer *answer)
{
    if (!answer->body)
        return MHD_NO;  // no memory: the connection is closed
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->length, answer->body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(answer->body);
        return MHD_NO;
    }
    bool good = MHD_add_response_header(response, "Content-Type", answer->type) == MHD_YES;
    for (size_t i = 0; i < countof(headers); i++)
        good = MHD_add_response_header(response, headers[i][0], headers[i][1]) == MHD_YES && good;
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        good = MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_YES && good;
    enum MHD_Result sent =
        good ? MHD_queue_response(connection, answer->status, response) : MHD_NO;
    MHD_destroy_response(response);
    return sent;
}

static void choose(const char *store, struct MHD_Connection *connection, const char *url,
                   struct answer *answer)
{
    const char *day = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "day");
    for (size_t i = 0; i < countof(routes); i++)
        if (strcmp(routes[i].path, url) == 0) {
            routes[i].show(store, day, answer);
            return;
        }
    say(answer, MHD_HTTP_NOT_FOUND, "not found", "There is no such page.");
}

// Called again for each part of a body; there should be none, and it is not read.
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_size, void **request)
{
    (void)version, (void)data;
    static int seen;
    struct answer answer;
    if (!*request) {
        *request = &seen;
        return MHD_YES;
    }
    if (*data_size > 0) {
        *data_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        say(&answer, MHD_HTTP_METHOD_NOT_ALLOWED, "not allowed", "This page can only be read.");
    else
        choose(context, connection, url, &answer);
    return send_answer(connection, &answer);
}

// ----- the program

struct arguments {
    const char *store;
    struct sockaddr_in address;
    bool help;
};

static bool parse_listen(const char *text, struct sockaddr_in *address)
{
    char host[64], *end;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof(host))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    long port = strtol(colon + 1, &end, 10);
    address->sin_port = htons((uint16_t)port);
    return end != colon + 1 && !*end && port >= 0 && port <= 65535
        && inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

static bool parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        { "store", required_argument, NULL, 's' }, { "listen", required_argument, NULL, 'l' },
        { "help", no_argument, NULL, 'h' }, {0},
    };
    *a = (struct arguments){ .store = "sqlite:brief.db" };
    a->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(PORT) };
    a->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool good = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 's': a->store = optarg; break;
        case 'l': good = parse_listen(optarg, &a->address) && good; break;
        case 'h': a->help = true; break;
        default: good = false;
        }
    return good && optind == argc;
}

static void *as_context(const char *text)
{
    union {
        const char *in;
        void *out;
    } same = { .in = text };
    return same.out;  // libmicrohttpd hands it back as it is
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    sigset_t signals;
    int signal;
    bool understood = parse(&arguments, argc, argv);
    if (!understood || arguments.help) {
        fputs("usage: brief-web [--store URL] [--listen ADDRESS:PORT]\n\n"
              "Shows the brief that brief-worker keeps in a store (sqlite:brief.db) as a page, on\n"
              "127.0.0.1:7320. Reads only.\n",
              understood ? stdout : stderr);
        return understood ? 0 : 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);  // before its thread starts
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, as_context(arguments.store),
        MHD_OPTION_SOCK_ADDR, &arguments.address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, SILENT_S, MHD_OPTION_END);
    if (!daemon) {
        fprintf(stderr, "brief-web: cannot listen: %s\n", strerror(errno));
        return 1;
    }
    printf("The brief is on http://%s:%u/\n", inet_ntoa(arguments.address.sin_addr),
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (sigwait(&signals, &signal) != 0)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
