// One row per header we look at.
#include "server/http_header.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "server/route.h"
#include "server/server.h"

struct collecting {
    struct headers *headers;
    struct arena *arena;
};

static const struct {
    const char *name;
    size_t text;   // where its value goes
    size_t count;  // where it is counted, if it must not be there twice; 0: any number
} rows[] = {
    { "Host", offsetof(struct headers, host), offsetof(struct headers, hosts) },
    { "Authorization", offsetof(struct headers, authorization),
      offsetof(struct headers, authorizations) },
    { "Content-Length", offsetof(struct headers, length),
      offsetof(struct headers, content_lengths) },
    { "Transfer-Encoding", offsetof(struct headers, transfer_encoding),
      offsetof(struct headers, transfer_encodings) },
    { "Origin", offsetof(struct headers, origin), 0 },
    { "Sec-Fetch-Site", offsetof(struct headers, fetch_site), 0 },
    { "Content-Type", offsetof(struct headers, content_type), 0 },
    { "Content-Encoding", offsetof(struct headers, content_encoding), 0 },
    { "X-Request-Id", offsetof(struct headers, request_id), 0 },
    { "traceparent", offsetof(struct headers, traceparent), 0 },
    { "Last-Event-ID", offsetof(struct headers, last_event_id), 0 },
    { "X-Content-SHA256", offsetof(struct headers, content_sha256), 0 },
};

// A NUL inside a value, or a space inside a name, is no header.
static bool foul(struct str name, struct str value)
{
    return memchr(value.s ? value.s : "", 0, value.n) != NULL
        || memchr(name.s, ' ', name.n) != NULL || name.n == 0;
}

// The parameters are dictated by the protocol library.
static enum MHD_Result collect(void *self, enum MHD_ValueKind kind, const char *key,
                               size_t key_bytes, const char *value, size_t value_bytes)
{
    struct collecting *c = self;
    struct str name = { key, key_bytes }, text = { value, value ? value_bytes : 0 };
    (void)kind;
    c->headers->count++;
    c->headers->bytes += name.n + text.n;
    c->headers->foul |= foul(name, text);
    for (size_t i = 0; i < countof(rows); i++) {
        if (strcasecmp(rows[i].name, key) != 0)
            continue;
        *(struct str *)((char *)c->headers + rows[i].text) = str_dup(c->arena, text);
        if (rows[i].count)
            (*(int *)((char *)c->headers + rows[i].count))++;
    }
    return MHD_YES;
}

void headers_read(struct headers *h, struct MHD_Connection *connection, struct arena *arena)
{
    struct collecting c = { h, arena };
    (void)!MHD_get_connection_values_n(connection, MHD_HEADER_KIND, collect, &c);
    h->content_length = -1;
    if (h->content_lengths && (!str_int(h->length, &h->content_length) || h->content_length < 0))
        h->content_length = -1;
    h->has_body = h->transfer_encodings > 0 || (h->content_lengths && h->content_length != 0);
}

// ----- the target

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - digits) : -1;
}

enum target target_look(const char *target)
{
    bool in_path = true;
    if (strlen(target) > TARGET_BYTES_MAX)
        return TARGET_LONG;
    for (const char *c = target; *c; c++) {
        in_path &= *c != '?';
        if (*c <= ' ' || *c > '~')
            return TARGET_FOUL;
        if (*c != '%')
            continue;
        int high = hex_digit(c[1]), low = high < 0 ? -1 : hex_digit(c[2]);
        int code = 16 * high + low;
        if (low < 0 || code == 0 || (in_path && code == '/'))
            return TARGET_FOUL;
        c += 2;
    }
    return TARGET_PLAIN;
}

// ----- the query

struct asking {
    struct exchange *x;
    unsigned seen;  // a bit per field: each may be given once
};

static bool twice(struct asking *a, struct str name)
{
    const struct fields *fields = &a->x->route->query;
    for (size_t i = 0; i < fields->count; i++)
        if (str_eq(str_of(fields->rows[i].name), name)) {
            bool before = (a->seen >> i) & 1;
            a->seen |= 1u << i;
            return before;
        }
    return false;
}

// The parameters are dictated by the protocol library.
static enum MHD_Result ask(void *self, enum MHD_ValueKind kind, const char *key, size_t key_bytes,
                           const char *value, size_t value_bytes)
{
    struct asking *a = self;
    struct exchange *x = a->x;
    struct str name = { key, key_bytes }, text = { value ? value : "", value ? value_bytes : 0 };
    (void)kind;
    if (!utf8_valid(name) || !utf8_valid(text))
        problem_add(&x->problems, "query", "must be UTF-8");
    else if (twice(a, name))
        problem_add(&x->problems, str_cstr(&x->arena, name), "is given twice");
    else
        (void)!fields_read_query(&x->route->query, name, text, x->data, &x->problems);
    return MHD_YES;
}

void query_read(struct MHD_Connection *connection, struct exchange *x)
{
    struct asking a = { .x = x };
    (void)!MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, ask, &a);
}
