// The constraints repeat what the jobs rely on: an address is stored once, a link once, a published
// row for ever.
#include "tables.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "sql.h"

static const char *const schema =
    "CREATE TABLE IF NOT EXISTS feeds ("
    "  id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    "  active INTEGER NOT NULL CHECK (active IN (0, 1)), kind TEXT,"
    "  etag TEXT NOT NULL DEFAULT '', modified TEXT NOT NULL DEFAULT '',"
    "  error TEXT, checked_at INTEGER) STRICT;"
    "CREATE TABLE IF NOT EXISTS feed_log ("
    "  id INTEGER PRIMARY KEY, feed_id INTEGER NOT NULL REFERENCES feeds (id),"
    "  at INTEGER NOT NULL, error TEXT) STRICT;"
    "CREATE TABLE IF NOT EXISTS raw_articles ("
    "  id INTEGER PRIMARY KEY, feed_id INTEGER NOT NULL REFERENCES feeds (id),"
    "  url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, summary TEXT NOT NULL,"
    "  published_at INTEGER NOT NULL, fetched_at INTEGER NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS raw_articles_by_time ON raw_articles (published_at);"
    // A cluster is known by the article it began with: planned twice, it is still one.
    "CREATE TABLE IF NOT EXISTS event_clusters ("
    "  id INTEGER PRIMARY KEY,"
    "  seed_article_id INTEGER NOT NULL UNIQUE REFERENCES raw_articles (id),"
    "  title TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,"
    "  article_count INTEGER NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS event_clusters_by_time ON event_clusters (last_at);"
    "CREATE TABLE IF NOT EXISTS cluster_articles ("
    "  cluster_id INTEGER NOT NULL REFERENCES event_clusters (id),"
    "  raw_article_id INTEGER NOT NULL UNIQUE REFERENCES raw_articles (id),"
    "  UNIQUE (cluster_id, raw_article_id)) STRICT;"
    "CREATE TABLE IF NOT EXISTS published_briefs ("
    "  id INTEGER PRIMARY KEY, day TEXT NOT NULL UNIQUE, published_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS brief_items ("
    "  brief_id INTEGER NOT NULL REFERENCES published_briefs (id), position INTEGER NOT NULL,"
    "  cluster_id INTEGER NOT NULL REFERENCES event_clusters (id),"
    "  raw_article_id INTEGER NOT NULL REFERENCES raw_articles (id),"
    "  headline TEXT NOT NULL, article_count INTEGER NOT NULL,"
    "  PRIMARY KEY (brief_id, position)) STRICT;"
    "CREATE INDEX IF NOT EXISTS brief_items_by_cluster ON brief_items (cluster_id);"
    "CREATE INDEX IF NOT EXISTS brief_items_by_article ON brief_items (raw_article_id);"
    "CREATE TRIGGER IF NOT EXISTS published_briefs_stay BEFORE DELETE ON published_briefs"
    "  BEGIN SELECT RAISE(ABORT, 'a published brief is immutable'); END;"
    "CREATE TRIGGER IF NOT EXISTS published_briefs_keep BEFORE UPDATE ON published_briefs"
    "  BEGIN SELECT RAISE(ABORT, 'a published brief is immutable'); END;"
    "CREATE TRIGGER IF NOT EXISTS brief_items_stay BEFORE DELETE ON brief_items"
    "  BEGIN SELECT RAISE(ABORT, 'a published brief is immutable'); END;"
    "CREATE TRIGGER IF NOT EXISTS brief_items_keep BEFORE UPDATE ON brief_items"
    "  BEGIN SELECT RAISE(ABORT, 'a published brief is immutable'); END";

bool tables_make(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_tx *tx;
    if (!pawl_begin(pawl, &tx, err))
        return false;
    if (pawl_tx_execute(tx, schema, err))
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

// ----- the list of feeds

enum { LINE_BYTES = 2048, LINES_MAX = 10000 };

struct line {
    char *name, *source;
};

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = 0;
    return text;
}

// Takes a line apart where it stands; false when it is bad. A line of nothing has no name.
static bool split(char *text, struct line *line)
{
    bool whole = strchr(text, '\n') || strlen(text) < LINE_BYTES - 1;
    *line = (struct line){0};
    text = trim(text);
    if (!*text || *text == '#')
        return whole;
    char *bar = strchr(text, '|');
    if (!bar || !whole)
        return false;
    *bar = 0;
    *line = (struct line){ trim(text), trim(bar + 1) };
    return *line->name && *line->source
        && (link_is_http(line->source) || !strstr(line->source, "://"));
}

// A path counts from the list's directory, and must be found from anywhere.
static bool locate(const char *directory, const char *source, char *out, size_t size)
{
    bool as_is = link_is_http(source) || source[0] == '/';
    int length = as_is ? snprintf(out, size, "%s", source)
                       : snprintf(out, size, "%s/%s", directory, source);
    return length > 0 && (size_t)length < size;
}

static bool store_line(sqlite3 *db, const char *directory, const struct line *line,
                       struct pawl_error *err)
{
    char source[LINE_BYTES * 2];
    if (!locate(directory, line->source, source, sizeof(source))) {
        *err = (struct pawl_error){ .code = PAWL_INVALID, .message = "a path is too long" };
        return false;
    }
    return sql_run(db, "INSERT INTO feeds (url, name, active) VALUES (?, ?, 1)"
                       " ON CONFLICT (url) DO UPDATE SET name = excluded.name, active = 1",
                   WITH(TEXT(source), TEXT(line->name)), err);
}

static bool store_list(sqlite3 *db, FILE *list, const char *directory, struct pawl_error *err)
{
    char text[LINE_BYTES], bad[200] = "";
    if (!sql_run(db, "UPDATE feeds SET active = 0", WITH_NOTHING, err))
        return false;
    for (int number = 1; number <= LINES_MAX && fgets(text, sizeof(text), list); number++) {
        struct line line;
        size_t used = strlen(bad);
        if (!split(text, &line))
            snprintf(bad + used, sizeof(bad) - used, "%s%d", used ? ", " : "", number);
        else if (line.name && !store_line(db, directory, &line, err))
            return false;
    }
    if (!bad[0])
        return true;
    err->code = PAWL_INVALID;
    snprintf(err->message, sizeof(err->message),
             "a line of the list of feeds is `name | address`: see line %s", bad);
    return false;
}

static bool store_in_one(struct pawl *pawl, FILE *list, const char *directory,
                         struct pawl_error *err)
{
    struct pawl_tx *tx;
    if (!pawl_begin(pawl, &tx, err))
        return false;
    if (store_list(pawl_tx_sqlite(tx), list, directory, err))
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

bool tables_set_feeds(struct pawl *pawl, const char *list_path, struct pawl_error *err)
{
    char *path = realpath(list_path, NULL);
    FILE *list = path ? fopen(path, "re") : NULL;
    bool good = false;
    if (list) {
        good = store_in_one(pawl, list, dirname(path), err);
        fclose(list);  // it was only read
    } else {
        err->code = PAWL_USAGE;
        snprintf(err->message, sizeof(err->message), "%.300s: %s", list_path, strerror(errno));
    }
    free(path);
    return good;
}
