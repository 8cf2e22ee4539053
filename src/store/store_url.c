// A URL is cut at its marks: scheme, user and host, database, options.
#include "store/store_url.h"

#include <string.h>

enum { SCHEMA_BYTES_MAX = 63 };

// SQLite would take these two for a store in memory, which is gone with the process.
bool url_names_file(struct str url)
{
    return str_starts(url, S("sqlite:")) && !str_eq(url, S("sqlite:"))
        && !str_eq(url, S("sqlite::memory:"));
}

bool url_names_server(struct str url)
{
    return str_starts(url, S("postgres://")) || str_starts(url, S("postgresql://"));
}

// ----- what is shown

static bool is_secret(struct str option)
{
    return str_starts(option, S("password=")) || str_starts(option, S("sslpassword="));
}

// `user:secret@host/database?options`. A secret may have marks of its own that should have been
// written otherwise, so all from the first colon to the last @ is taken for it.
static struct str show_user(struct buf *shown, struct str rest)
{
    const char *at = rest.n ? memrchr(rest.s, '@', rest.n) : NULL;
    if (!at)
        return rest;
    struct str user = { rest.s, (size_t)(at - rest.s) }, name, secret;
    str_cut(user, ':', &name, &secret);
    buf_add(shown, name);
    buf_add(shown, secret.n ? S(":***@") : S("@"));
    return (struct str){ at + 1, rest.n - user.n - 1 };
}

struct str url_shown(struct arena *arena, struct str url)
{
    if (!url_names_server(url))
        return str_dup(arena, url);
    struct buf shown = buf_new(arena, 2 * url.n + 64);
    struct str scheme, rest, place, options;
    str_cut(url, '/', &scheme, &rest);
    buf_addf(&shown, "%.*s//", STR(scheme));
    rest = show_user(&shown, (struct str){ rest.s + 1, rest.n - 1 });
    str_cut(rest, '?', &place, &options);
    buf_add(&shown, place);
    for (char mark = '?'; options.n; mark = '&') {
        struct str option, name, value;
        str_cut(options, '&', &option, &options);
        str_cut(option, '=', &name, &value);
        buf_add_char(&shown, mark);
        if (is_secret(option))
            buf_addf(&shown, "%.*s=***", STR(name));
        else
            buf_add(&shown, option);
    }
    return buf_str(&shown);
}

// ----- the options that are ours

static bool is_plain(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || c == '_' || (!first && c >= '0' && c <= '9');
}

// It stands in SQL text, so it is a plain name that needs no quotes.
static bool schema_is_good(struct str schema, struct pawl_error *err)
{
    bool good = schema.n > 0 && schema.n <= SCHEMA_BYTES_MAX && !str_starts(schema, S("pg_"));
    for (size_t i = 0; i < schema.n; i++)
        good = good && is_plain(schema.s[i], i == 0);
    return good
        || fail(err, PAWL_USAGE, "schema=%.*s in the store's URL: use small letters, digits and _",
                STR(schema));
}

static bool pooler_is_known(struct str pooler, struct pawl_error *err)
{
    return pooler.n == 0 || str_eq(pooler, S("transaction"))
        || fail(err, PAWL_USAGE, "pooler=%.*s in the store's URL: it can be transaction; one that "
                                 "keeps whole sessions needs no option",
                STR(pooler));
}

bool url_is_pooled(struct str url)
{
    struct str place, options, option;
    str_cut(url, '?', &place, &options);
    bool pooled = false;
    while (options.n) {
        str_cut(options, '&', &option, &options);
        pooled = pooled || str_eq(option, S("pooler=transaction"));
    }
    return pooled && url_names_server(url);
}

bool server_url_parse(struct arena *arena, struct str url, struct server_url *parts,
                      struct pawl_error *err)
{
    struct str place, options, schema = S("pawl"), files = S("pawl.artifacts"), pooler = {0};
    struct buf connect = buf_new(arena, url.n + 2);
    str_cut(url, '?', &place, &options);
    buf_add(&connect, place);
    for (char mark = '?'; options.n;) {
        struct str option, name, value;
        str_cut(options, '&', &option, &options);
        str_cut(option, '=', &name, &value);
        if (str_eq(name, S("schema")))
            schema = value;
        else if (str_eq(name, S("files")))
            files = value;
        else if (str_eq(name, S("pooler")))
            pooler = value;
        else {
            buf_add_char(&connect, mark);
            buf_add(&connect, option);
            mark = '&';
        }
    }
    *parts = (struct server_url){
        .connect = str_cstr(arena, buf_str(&connect)),
        .shown = str_cstr(arena, url_shown(arena, url)),
        .schema = str_cstr(arena, schema),
        .files = str_cstr(arena, files),
        .pooled = url_is_pooled(url),
    };
    if (arena->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    return schema_is_good(schema, err) && pooler_is_known(pooler, err)
        && (files.n || fail(err, PAWL_USAGE, "files= in the store's URL names no directory"));
}
