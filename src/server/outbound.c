// One handle of libcurl, so that the messages of a client share a connection.
#include "server/outbound.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_US_MAX SECONDS(5)
enum { DAY_S = 86400 };  // nobody is waited for longer

struct outbound {
    struct outbound_options options;
    struct arena arena;  // of what lives as long as the client
    CURL *curl;
    char why[CURL_ERROR_SIZE];
    const struct outbound_message *message;  // under way
    struct buf *reply;   // to it
};

// ----- addresses

static struct str part_of(struct arena *arena, CURLU *url, CURLUPart part)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
        return S("");
    struct str copy = str_dup(arena, str_of(text));
    curl_free(text);
    return copy;
}

static const char *problem_of(struct arena *arena, CURLU *url, struct str text, struct str *host)
{
    if (curl_url_set(url, CURLUPART_URL, str_cstr(arena, text), 0) != CURLUE_OK)
        return "http://HOST or https://HOST, with a port and a path if need be";
    struct str scheme = part_of(arena, url, CURLUPART_SCHEME);
    if (!str_eq(scheme, S("http")) && !str_eq(scheme, S("https")))
        return "http://... or https://...";
    if (part_of(arena, url, CURLUPART_USER).n || part_of(arena, url, CURLUPART_PASSWORD).n)
        return "without a user and a password: secrets come from files";
    *host = part_of(arena, url, CURLUPART_HOST);
    return NULL;
}

const char *outbound_url_problem(struct arena *arena, struct str url, struct str *host)
{
    CURLU *parsed = curl_url();
    const char *problem = parsed ? problem_of(arena, parsed, url, host) : "read, but there is no "
                                                                         "memory for it";
    curl_url_cleanup(parsed);
    return problem;
}

static bool is_loopback(struct str host)
{
    return str_eq(host, S("localhost")) || str_eq(host, S("[::1]")) || str_starts(host, S("127."));
}

// ----- what libcurl calls

// What is beyond the maximum is not wanted: the rest of the answer is not read.
static size_t take_bytes(char *bytes, size_t one, size_t count, void *self)
{
    struct outbound *o = self;
    size_t n = one * count, room = o->options.reply_bytes_max - o->reply->n;
    buf_add(o->reply, (struct str){ bytes, n < room ? n : room });
    return n <= room ? n : 0;
}

// The parameters are dictated by libcurl.
static int look_whether_to_stop(void *self, curl_off_t down_total, curl_off_t down,
                                curl_off_t up_total, curl_off_t up)
{
    const struct outbound *o = self;
    const struct outbound_message *message = o->message;
    (void)down_total, (void)down, (void)up_total, (void)up;
    return (o->options.stop && atomic_load(o->options.stop))
        || (message->stopped && message->stopped(message->self));
}

// ----- open and close

static void set_options(struct outbound *o, bool loopback)
{
    const struct outbound_options *options = &o->options;
    int64_t connect_us = options->timeout_us < CONNECT_US_MAX ? options->timeout_us
                                                              : CONNECT_US_MAX;
    curl_easy_setopt(o->curl, CURLOPT_URL, str_cstr(&o->arena, options->url));
    curl_easy_setopt(o->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(o->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(o->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(o->curl, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    curl_easy_setopt(o->curl, CURLOPT_ERRORBUFFER, o->why);
    curl_easy_setopt(o->curl, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(o->curl, CURLOPT_WRITEDATA, o);
    curl_easy_setopt(o->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(o->curl, CURLOPT_XFERINFOFUNCTION, look_whether_to_stop);
    curl_easy_setopt(o->curl, CURLOPT_XFERINFODATA, o);
    curl_easy_setopt(o->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_us / 1000));
    curl_easy_setopt(o->curl, CURLOPT_TIMEOUT_MS, (long)(options->timeout_us / 1000));
    if (loopback)
        curl_easy_setopt(o->curl, CURLOPT_PROXY, "");
}

bool outbound_open(struct outbound **opened, const struct outbound_options *options,
                   struct pawl_error *err)
{
    struct outbound *o = *opened = calloc(1, sizeof *o);
    struct str host = S("");
    if (!o || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return fail(err, PAWL_NO_MEMORY, "no memory for an HTTP client");
    o->options = *options;
    const char *problem = outbound_url_problem(&o->arena, options->url, &host);
    if (problem)
        return fail(err, PAWL_INVALID, "a URL must be %s", problem);
    o->curl = curl_easy_init();
    if (o->curl)
        set_options(o, is_loopback(host));
    return (o->curl && !o->arena.failed)
        || fail(err, PAWL_NO_MEMORY, "no memory for an HTTP client");
}

void outbound_close(struct outbound *o)
{
    if (!o)
        return;
    curl_easy_cleanup(o->curl);
    arena_end(&o->arena);
    free(o);
}

// ----- sending

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_headers(struct curl_slist **list, const char *const *lines)
{
    bool added = true;
    for (size_t i = 0; lines && lines[i] && added; i++)
        added = add_header(list, lines[i]);
    return added;
}

static bool explain(struct outbound *o, CURLcode result, struct pawl_error *err)
{
    static const struct {
        CURLcode result;
        const char *what;
    } rows[] = {
        { CURLE_COULDNT_RESOLVE_HOST, "there is no such host" },
        { CURLE_COULDNT_CONNECT, "nobody answers" },
        { CURLE_OPERATION_TIMEDOUT, "there was no answer in time" },
        { CURLE_PEER_FAILED_VERIFICATION, "its certificate is not to be trusted" },
        { CURLE_ABORTED_BY_CALLBACK, "it was told to stop" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (rows[i].result == result)
            return fail(err, PAWL_IN_DOUBT, "%s", rows[i].what);
    return fail(err, PAWL_IN_DOUBT, "the connection was lost (%s)",
                *o->why ? o->why : curl_easy_strerror(result));
}

static bool perform(struct outbound *o, struct outbound_reply *reply, struct pawl_error *err)
{
    long status = 0;
    curl_off_t retry_after_s = 0;
    CURLcode result = curl_easy_perform(o->curl);
    curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(o->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    bool cut = result == CURLE_WRITE_ERROR && status != 0;  // by us: it was long enough
    reply->late = result == CURLE_OPERATION_TIMEDOUT;
    if (result != CURLE_OK && !cut)
        return explain(o, result, err);
    reply->status = (int)status;
    if (retry_after_s > 0)
        reply->retry_after_us = retry_after_s < DAY_S ? SECONDS(retry_after_s) : DAYS(1);
    reply->body = buf_str(o->reply);
    return true;
}

bool outbound_post(struct outbound *o, const struct outbound_message *message,
                   struct arena *arena, struct outbound_reply *reply, struct pawl_error *err)
{
    struct curl_slist *headers = NULL;
    struct buf kept = buf_new(arena, o->options.reply_bytes_max + 1);
    *reply = (struct outbound_reply){0};
    o->message = message;
    o->reply = &kept;
    o->why[0] = '\0';
    // Without the second one large bodies would wait for a word that need not come.
    bool ready = add_header(&headers, "Content-Type: application/json")
              && add_header(&headers, "Expect:") && add_headers(&headers, o->options.headers)
              && add_headers(&headers, message->headers);
    curl_easy_setopt(o->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(o->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)message->body.n);
    curl_easy_setopt(o->curl, CURLOPT_POSTFIELDS, message->body.n ? message->body.s : "");
    bool sent = ready ? perform(o, reply, err)
                      : fail(err, PAWL_NO_MEMORY, "no memory for a message");
    curl_easy_setopt(o->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    o->message = NULL;
    o->reply = NULL;
    return sent;
}
