// One handle of libcurl, so that the requests of a command share a connection.
#include "cli/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLY_BYTES_MAX = 64 << 20 };
#define CONNECT_US SECONDS(5)
#define ANSWER_US SECONDS(60)
#define BEYOND_WAIT_US SECONDS(10)

struct client {
    struct arena arena;
    CURL *curl;
    struct curl_slist *headers;
    const char *url;
    char why[CURL_ERROR_SIZE];
    // The body of the answer under way.
    char *bytes;
    size_t n, capacity;
    bool too_large;
    struct transfer *transfer;  // of the request under way; NULL: none
};

// ----- the address

// Part of a URL, in the arena; empty when it has none.
static struct str part_of(struct arena *arena, CURLU *url, CURLUPart part)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
        return S("");
    struct str copy = str_dup(arena, str_of(text));
    curl_free(text);
    return copy;
}

static bool is_loopback(struct str host)
{
    return str_eq(host, S("localhost")) || str_eq(host, S("[::1]")) || str_starts(host, S("127."));
}

static bool check_parts(struct arena *arena, CURLU *url, struct str text, struct pawl_error *err)
{
    struct str scheme = part_of(arena, url, CURLUPART_SCHEME);
    if (!str_eq(scheme, S("http")) && !str_eq(scheme, S("https")))
        return fail(err, PAWL_USAGE, "a server is http://HOST:PORT or https://HOST:PORT, not "
                                     "`%.*s`",
                    STR(text));
    if (part_of(arena, url, CURLUPART_USER).n || part_of(arena, url, CURLUPART_PASSWORD).n)
        return fail(err, PAWL_USAGE, "the address of a server has no user and no password: the key "
                                     "comes from $PAWL_API_KEY or --key-file");
    if (part_of(arena, url, CURLUPART_QUERY).n || part_of(arena, url, CURLUPART_FRAGMENT).n)
        return fail(err, PAWL_USAGE, "the address of a server ends with its host, port or path, "
                                     "not with ? or #");
    return true;
}

// The URL without a slash at its end, and whether its host is this machine.
static bool read_url(struct client *c, struct str text, bool *loopback, struct pawl_error *err)
{
    CURLU *url = curl_url();
    if (!url)
        return fail(err, PAWL_NO_MEMORY, "no memory to read the address of the server");
    bool good = curl_url_set(url, CURLUPART_URL, str_cstr(&c->arena, text), 0) == CURLUE_OK;
    good = good ? check_parts(&c->arena, url, text, err)
                : fail(err, PAWL_USAGE, "a server is http://HOST:PORT or https://HOST:PORT, not "
                                        "`%.*s`",
                       STR(text));
    *loopback = is_loopback(part_of(&c->arena, url, CURLUPART_HOST));
    curl_url_cleanup(url);
    while (text.n > 0 && text.s[text.n - 1] == '/')
        text.n--;
    c->url = str_cstr(&c->arena, text);
    return good;
}

// ----- open and close

static bool is_good(CURL *curl)
{
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300;
}

static size_t take_bytes(char *bytes, size_t one, size_t count, void *self)
{
    struct client *c = self;
    size_t n = one * count;
    if (c->transfer && c->transfer->take && is_good(c->curl))
        return c->transfer->take(c->transfer->self, bytes, n) ? n : 0;
    if (n > REPLY_BYTES_MAX - c->n) {
        c->too_large = true;
        return 0;
    }
    while (c->capacity < c->n + n) {
        size_t capacity = c->capacity ? c->capacity * 2 : 16384;
        char *more = realloc(c->bytes, capacity);
        if (!more)
            return 0;
        c->bytes = more;
        c->capacity = capacity;
    }
    memcpy(c->bytes + c->n, bytes, n);
    c->n += n;
    return n;
}

static void add_header(struct client *c, const char *name, struct str value)
{
    struct str line = str_format(&c->arena, "%s: %.*s", name, STR(value));
    struct curl_slist *longer = curl_slist_append(c->headers, line.s);
    if (longer)
        c->headers = longer;
    c->arena.failed |= !longer;
}

static void set_options(struct client *c, const struct client_options *options, bool loopback)
{
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
    if (loopback)
        curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
    if (options->cacert)
        curl_easy_setopt(c->curl, CURLOPT_CAINFO, options->cacert);
    add_header(c, "Content-Type", S("application/json"));
    add_header(c, "Expect", S(""));  // or large bodies would wait for a word that need not come
    if (options->request_id.n)
        add_header(c, "X-Request-Id", options->request_id);
    if (options->key.n)
        add_header(c, "Authorization", str_format(&c->arena, "Bearer %.*s", STR(options->key)));
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
}

bool client_open(struct client **client, const struct client_options *options,
                 struct pawl_error *err)
{
    bool loopback = false;
    struct client *c = *client = calloc(1, sizeof(*c));
    if (!c || !read_url(c, options->url, &loopback, err))
        return c ? false : fail(err, PAWL_NO_MEMORY, "no memory for a client");
    // What TLS needs is made ready only for those who use it: that takes longer than a request.
    bool tls = str_starts(options->url, S("https:"));
    if (curl_global_init(tls ? CURL_GLOBAL_SSL : CURL_GLOBAL_NOTHING) != CURLE_OK)
        return fail(err, PAWL_NO_MEMORY, "cannot start the HTTP client");
    c->curl = curl_easy_init();
    if (c->curl)
        set_options(c, options, loopback);
    return (c->curl && !c->arena.failed) || fail(err, PAWL_NO_MEMORY, "no memory for a client");
}

void client_close(struct client *client)
{
    if (!client)
        return;
    curl_slist_free_all(client->headers);
    curl_easy_cleanup(client->curl);
    free(client->bytes);
    arena_end(&client->arena);
    free(client);
}

const char *client_url(const struct client *client)
{
    return client->url;
}

// ----- asking

void reply_end(struct reply *reply)
{
    json_end(&reply->body);
}

static bool changes(const struct request *request)
{
    return strcmp(request->method, "GET") != 0;
}

static bool explain(struct client *c, const struct request *request, CURLcode result,
                    struct pawl_error *err)
{
    // clang-format off
    static const struct { CURLcode result; const char *what, *hint; } rows[] = {
        { CURLE_COULDNT_RESOLVE_HOST, "there is no such host",
          "check --server or $PAWL_SERVER" },
        { CURLE_COULDNT_RESOLVE_PROXY, "there is no such proxy",
          "check $http_proxy and $https_proxy" },
        { CURLE_COULDNT_CONNECT, "nobody answers",
          "start it with `pawl serve`, check --server or $PAWL_SERVER, or work on the store with "
          "--store" },
        { CURLE_OPERATION_TIMEDOUT, "there was no answer in time",
          "look whether the server is overloaded, and try again" },
        { CURLE_PEER_FAILED_VERIFICATION, "its certificate is not to be trusted",
          "if an authority of your own signed it, say --cacert FILE or $PAWL_CACERT" },
        { CURLE_SSL_CACERT_BADFILE, "the file of authorities cannot be read",
          "check --cacert or $PAWL_CACERT" },
        { CURLE_SSL_CONNECT_ERROR, "it does not speak TLS as we do",
          "check that the server is meant to be asked with https" },
    };
    // clang-format on
    const char *what = "the connection was lost", *hint = "look at the server's log, and try again";
    for (size_t i = 0; i < countof(rows); i++)
        if (rows[i].result == result) {
            what = rows[i].what;
            hint = rows[i].hint;
        }
    long sent = 0;
    curl_easy_getinfo(c->curl, CURLINFO_REQUEST_SIZE, &sent);
    return fail(err, sent > 0 && changes(request) ? PAWL_IN_DOUBT : PAWL_STORE,
                "%s: %s (%s): %s", c->url, what, *c->why ? c->why : curl_easy_strerror(result),
                hint);
}

static void aim(struct client *c, const struct request *request, struct arena *arena)
{
    int64_t answer_us = request->wait_us ? request->wait_us + BEYOND_WAIT_US : ANSWER_US;
    struct str url = str_format(arena, "%s%.*s", c->url, STR(request->path));
    struct str body = request->body ? json_text(arena, request->body) : S("");
    curl_easy_setopt(c->curl, CURLOPT_URL, url.s);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(CONNECT_US / 1000));
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)(answer_us / 1000));
    curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    if (changes(request)) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body.s);
    }
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, request->method);
}

// Deeper than what we accept from others: a page of jobs is around each payload.
static void read_reply(struct client *c, struct reply *reply)
{
    long status = 0;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    *reply = (struct reply){
        .status = (int)status,
        .body = json_loadb(c->bytes ? c->bytes : "", c->n, JSON_REJECT_DUPLICATES, NULL),
        .retry_after_s = (int64_t)retry_after_s,
    };
}

bool client_ask(struct client *client, const struct request *request, struct reply *reply,
                struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    *reply = (struct reply){0};
    client->n = 0;
    client->too_large = false;
    client->why[0] = '\0';
    aim(client, request, &arena);
    if (arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to ask the server");
    CURLcode result = curl_easy_perform(client->curl);
    if (client->too_large)
        return fail(err, PAWL_TOO_LARGE, "%s: the answer is larger than 64 MiB", client->url);
    if (result != CURLE_OK)
        return explain(client, request, result, err);
    read_reply(client, reply);
    return true;
}

// ----- files

static size_t give_bytes(char *bytes, size_t one, size_t count, void *self)
{
    struct transfer *transfer = self;
    int64_t n = transfer->give(transfer->self, bytes, one * count);
    return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static void add_line(struct client *c, struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    c->arena.failed |= !longer;
    *list = longer ? longer : *list;
}

// The usual headers, but for what they say of the body.
static struct curl_slist *file_headers(struct client *c, const struct transfer *t,
                                       struct arena *arena)
{
    struct curl_slist *list = NULL;
    for (const struct curl_slist *line = c->headers; line; line = line->next)
        if (strncmp(line->data, "Content-Type:", strlen("Content-Type:")) != 0)
            add_line(c, &list, line->data);
    add_line(c, &list, str_format(arena, "Content-Type: %.*s", STR(t->content_type)).s);
    if (t->sha256.n)
        add_line(c, &list, str_format(arena, "X-Content-SHA256: %.*s", STR(t->sha256)).s);
    return list;
}

static void aim_file(struct client *c, struct transfer *t, const struct curl_slist *headers)
{
    c->transfer = t;
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)(ANSWER_US / SECONDS(1)));
    if (!t->give)
        return;
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(c->curl, CURLOPT_READFUNCTION, give_bytes);
    curl_easy_setopt(c->curl, CURLOPT_READDATA, t);
    curl_easy_setopt(c->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(t->bytes ? t->bytes : -1));
}

static void aim_back(struct client *c)
{
    c->transfer = NULL;
    curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 0L);
    curl_easy_setopt(c->curl, CURLOPT_UPLOAD, 0L);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
}

bool client_transfer(struct client *client, const struct request *request,
                     struct transfer *transfer, struct reply *reply, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct curl_slist *headers = transfer->give ? file_headers(client, transfer, &arena) : NULL;
    *reply = (struct reply){0};
    client->n = 0;
    client->too_large = false;
    client->why[0] = '\0';
    aim(client, request, &arena);
    aim_file(client, transfer, headers);
    curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, request->method);
    CURLcode result = arena.failed || client->arena.failed ? CURLE_OUT_OF_MEMORY
                                                           : curl_easy_perform(client->curl);
    aim_back(client);
    curl_slist_free_all(headers);
    if (result == CURLE_WRITE_ERROR || result == CURLE_ABORTED_BY_CALLBACK)
        return fail(err, PAWL_STORE, "the file cannot be %s", transfer->give ? "read" : "written");
    if (result != CURLE_OK)
        return explain(client, request, result, err);
    read_reply(client, reply);
    return true;
}

// ----- is there one?

bool client_answers(const char *url, int64_t within_us)
{
    struct client *c = NULL;
    struct client_options options = { .url = str_of(url) };
    bool answers = false;
    if (client_open(&c, &options, NULL)) {
        SCOPED(arena) struct arena arena = {0};
        SCOPED(reply) struct reply reply = {0};
        aim(c, &(struct request){ .method = "GET", .path = S("/healthz") }, &arena);
        curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)(within_us / 1000));
        if (!arena.failed && curl_easy_perform(c->curl) == CURLE_OK)
            read_reply(c, &reply);
        const char *said = json_string_value(json_object_get(reply.body, "status"));
        answers = reply.status == 200 && said && strcmp(said, "ok") == 0
               && json_object_get(reply.body, "version");
    }
    client_close(c);
    return answers;
}
