// One thread, one multi handle of libcurl, at most FETCH_AT_ONCE transfers. The limit on bytes
// counts what comes out of decompression, so that a small answer cannot become a large one.
#include "fetch.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link.h"

enum { REDIRECTS_MAX = 5, CONNECT_MS = 5000, WAIT_MS = 200 };

struct transfer {
    struct fetch *fetch;
    CURL *curl;
    struct curl_slist *headers;
    char etag[256], modified[128];  // of the answer
    bool too_large;
};

static void fail_fetch(struct fetch *fetch, const char *why)
{
    fetch->end = FETCH_FAILED;
    snprintf(fetch->error, sizeof(fetch->error), "%s", why);
}

static bool append(struct fetch *fetch, const char *bytes, size_t count)
{
    if (count > FETCH_BYTES_MAX - fetch->length)
        return false;
    if (fetch->length + count > fetch->room) {
        size_t room = 2 * (fetch->length + count);
        char *more = realloc(fetch->body, room);
        if (!more)
            return false;
        fetch->body = more;
        fetch->room = room;
    }
    memcpy(fetch->body + fetch->length, bytes, count);
    fetch->length += count;
    return true;
}

static void finish(struct fetch *fetch, const struct fetch_how *how)
{
    how->done(how->context, fetch);
    free(fetch->body);
    fetch->body = NULL;
    fetch->length = fetch->room = 0;
}

// ----- files

static bool read_open(struct fetch *fetch, int file)
{
    struct stat stat_;
    char bytes[65536];
    if (fstat(file, &stat_) != 0 || !S_ISREG(stat_.st_mode)) {
        fail_fetch(fetch, "it is not a regular file");
        return false;
    }
    for (ssize_t n; (n = read(file, bytes, sizeof(bytes))) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || !append(fetch, bytes, (size_t)n)) {
            fail_fetch(fetch, n < 0 ? strerror(errno) : "it is larger than 4 MiB");
            return false;
        }
    }
    return true;
}

static void read_path(struct fetch *fetch)
{
    int file = open(fetch->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hold us
    if (file < 0) {
        fail_fetch(fetch, strerror(errno));
        return;
    }
    if (read_open(fetch, file))
        fetch->end = FETCH_BODY;
    close(file);
}

// ----- one transfer

static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    t->too_large = !append(t->fetch, bytes, size * count);
    return t->too_large ? 0 : size * count;
}

// Takes the value of a header that is asked for; one that does not fit is as good as none.
static void take(const char *line, size_t length, const char *name, char *value, size_t size)
{
    size_t name_length = strlen(name);
    if (length <= name_length || strncasecmp(line, name, name_length) != 0)
        return;
    line += name_length, length -= name_length;
    while (length > 0 && isspace((unsigned char)*line))
        line++, length--;
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    snprintf(value, size, "%.*s", length < size ? (int)length : 0, line);
}

static size_t header(char *line, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    if (size * count > 5 && strncmp(line, "HTTP/", 5) == 0)
        t->etag[0] = t->modified[0] = 0;  // another answer, after a redirection
    take(line, size * count, "etag:", t->etag, sizeof(t->etag));
    take(line, size * count, "last-modified:", t->modified, sizeof(t->modified));
    return size * count;
}

static bool add_header(struct transfer *t, const char *name, const char *value)
{
    char line[512];
    if (!*value)
        return true;
    snprintf(line, sizeof(line), "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(t->headers, line);
    if (more)
        t->headers = more;
    return more != NULL;
}

static bool set_up(struct transfer *t, long timeout_ms)
{
    CURL *c = t->curl;
    return add_header(t, "If-None-Match", t->fetch->etag)
        && add_header(t, "If-Modified-Since", t->fetch->modified)
        && curl_easy_setopt(c, CURLOPT_URL, t->fetch->source) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_USERAGENT, "daily-brief (an example of Pawl)") == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_HEADERDATA, t) == CURLE_OK
        && curl_easy_setopt(c, CURLOPT_PRIVATE, t) == CURLE_OK;
}

static void close_transfer(struct transfer *t)
{
    curl_easy_cleanup(t->curl);
    curl_slist_free_all(t->headers);
    free(t);
}

static struct transfer *begin_transfer(CURLM *multi, struct fetch *fetch, long timeout_ms)
{
    struct transfer *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->fetch = fetch;
    t->curl = curl_easy_init();
    if (t->curl && set_up(t, timeout_ms) && curl_multi_add_handle(multi, t->curl) == CURLM_OK)
        return t;
    close_transfer(t);
    return NULL;
}

static void judge(struct transfer *t, CURLcode how)
{
    struct fetch *fetch = t->fetch;
    long status = 0;
    char *address = NULL;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->curl, CURLINFO_EFFECTIVE_URL, &address);
    snprintf(fetch->address, sizeof(fetch->address), "%s", address ? address : "");
    if (t->too_large)
        fail_fetch(fetch, "it is larger than 4 MiB");
    else if (how != CURLE_OK)
        fail_fetch(fetch, curl_easy_strerror(how));
    else if (status == 304)
        fetch->end = FETCH_SAME;
    else if (status != 200)
        snprintf(fetch->error, sizeof(fetch->error), "the server answers %ld", status);
    else {
        fetch->end = FETCH_BODY;
        memcpy(fetch->etag, t->etag, sizeof(t->etag));
        memcpy(fetch->modified, t->modified, sizeof(t->modified));
    }
}

// ----- all of them

struct crowd {
    CURLM *multi;
    struct transfer *open[FETCH_AT_ONCE];
    size_t open_count;
};

static void leave(struct crowd *crowd, struct transfer *t)
{
    for (size_t i = 0; i < crowd->open_count; i++)
        if (crowd->open[i] == t)
            crowd->open[i] = crowd->open[--crowd->open_count];
    curl_multi_remove_handle(crowd->multi, t->curl);
    close_transfer(t);
}

static void collect(struct crowd *crowd, const struct fetch_how *how)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(crowd->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct transfer *t = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        struct fetch *fetch = t->fetch;
        judge(t, result);
        leave(crowd, t);
        finish(fetch, how);
    }
}

// Begins the next fetch: a file is read here and now, a transfer joins the others.
static void begin_next(struct crowd *crowd, struct fetch *fetch, const struct fetch_how *how)
{
    fetch->end = FETCH_FAILED;
    if (link_is_http(fetch->source)) {
        struct transfer *t = begin_transfer(crowd->multi, fetch, how->timeout_ms);
        if (t) {
            crowd->open[crowd->open_count++] = t;
            return;
        }
        fail_fetch(fetch, "out of memory");
    } else if (strstr(fetch->source, "://")) {
        fail_fetch(fetch, "only http, https and paths of files can be read");
    } else {
        read_path(fetch);
    }
    finish(fetch, how);
}

static bool run(struct crowd *crowd, struct fetch *fetches, size_t count,
                const struct fetch_how *how)
{
    int running;
    for (size_t next = 0; next < count || crowd->open_count > 0;) {
        if (!how->go_on(how->context))
            return false;
        while (next < count && crowd->open_count < FETCH_AT_ONCE)
            begin_next(crowd, &fetches[next++], how);
        if (curl_multi_perform(crowd->multi, &running) != CURLM_OK)
            return false;
        collect(crowd, how);
        if (crowd->open_count > 0
            && curl_multi_poll(crowd->multi, NULL, 0, WAIT_MS, NULL) != CURLM_OK)
            return false;
    }
    return true;
}

bool fetch_all(struct fetch *fetches, size_t count, const struct fetch_how *how)
{
    struct crowd crowd = { .multi = curl_multi_init() };
    bool good = crowd.multi && run(&crowd, fetches, count, how);
    while (crowd.open_count > 0)
        leave(&crowd, crowd.open[0]);
    for (size_t i = 0; i < count; i++) {  // what was cut off in the middle
        free(fetches[i].body);
        fetches[i].body = NULL;
    }
    curl_multi_cleanup(crowd.multi);
    return good;
}
