// One read transaction, so that all of an edition is of one moment.
#include "edition.h"

#include <stdio.h>

#include "dates.h"
#include "sql.h"

enum { EVENTS_MAX = 60, ARTICLES_MAX = 25 };

// A day as its first second and that of the next one.
struct day {
    int64_t from, to;
    char text[DAY_BYTES];
};

static struct day day_at(int64_t at)
{
    struct day day = { .from = at - at % DAY_SECONDS };
    day.to = day.from + DAY_SECONDS;
    date_day(at, day.text);
    return day;
}

static json_t *time_text(int64_t at)
{
    char text[TIME_BYTES];
    date_time(at, text);
    return json_string(text);
}

// ----- which day

// The one number a question answers; 0 when it answers none.
static bool ask_number(sqlite3 *db, const char *sql, int64_t at, int64_t *number,
                       struct pawl_error *err)
{
    sqlite3_stmt *rows = sql_ask(db, sql, WITH(NUMBER(at)), err);
    *number = sql_next(rows) ? sqlite3_column_int64(rows, 0) : 0;
    return sql_end(rows, err);
}

static const char *const last_before =
    "SELECT max(a.published_at) FROM raw_articles a"
    " JOIN cluster_articles l ON l.raw_article_id = a.id WHERE a.published_at < ?";
static const char *const first_after =
    "SELECT min(a.published_at) FROM raw_articles a"
    " JOIN cluster_articles l ON l.raw_article_id = a.id WHERE a.published_at >= ?";

static bool choose_day(sqlite3 *db, const char *text, int64_t now, struct day *day,
                       struct pawl_error *err)
{
    int64_t at;
    *day = day_at(now);
    if (text && date_of_day(text, &at)) {
        *day = day_at(at);
        return true;
    }
    if (text) {
        *err = (struct pawl_error){ .code = PAWL_INVALID, .message = "a day is as 2026-03-14" };
        return false;
    }
    if (!ask_number(db, last_before, day->to, &at, err))
        return false;
    if (at > 0)
        *day = day_at(at);
    return true;
}

static bool add_neighbour(sqlite3 *db, json_t *edition, const char *name, const char *sql,
                          int64_t at, struct pawl_error *err)
{
    int64_t found;
    if (!ask_number(db, sql, at, &found, err))
        return false;
    json_t *day = found > 0 ? json_string(day_at(found).text) : json_null();
    return json_object_set_new(edition, name, day) == 0;
}

// ----- what is in it

static const char *const events_of_day =
    "SELECT c.id, c.title, s.summary, c.article_count,"
    "  (SELECT count(DISTINCT b.feed_id) FROM cluster_articles k"
    "   JOIN raw_articles b ON b.id = k.raw_article_id WHERE k.cluster_id = c.id),"
    "  c.first_at, c.last_at"
    " FROM event_clusters c JOIN raw_articles s ON s.id = c.seed_article_id"
    " WHERE c.id IN (SELECT l.cluster_id FROM raw_articles a"
    "  JOIN cluster_articles l ON l.raw_article_id = a.id"
    "  WHERE a.published_at >= ? AND a.published_at < ?)"
    " ORDER BY c.article_count DESC, c.last_at DESC, c.id LIMIT ?";
static const char *const articles_of_event =
    "SELECT a.title, a.url, f.name, a.published_at FROM cluster_articles l"
    " JOIN raw_articles a ON a.id = l.raw_article_id JOIN feeds f ON f.id = a.feed_id"
    " WHERE l.cluster_id = ? ORDER BY a.published_at, a.id LIMIT ?";

static json_t *load_articles(sqlite3 *db, int64_t cluster, struct pawl_error *err)
{
    json_t *articles = json_array();
    sqlite3_stmt *rows =
        sql_ask(db, articles_of_event, WITH(NUMBER(cluster), NUMBER(ARTICLES_MAX)), err);
    while (sql_next(rows))
        json_array_append_new(articles, json_pack("{s:s, s:s, s:s, s:o}", "title",
                                                  sql_text(rows, 0), "url", sql_text(rows, 1),
                                                  "outlet", sql_text(rows, 2), "published_at",
                                                  time_text(sqlite3_column_int64(rows, 3))));
    if (sql_end(rows, err))
        return articles;
    json_decref(articles);
    return NULL;
}

static json_t *event_of(sqlite3 *db, sqlite3_stmt *rows, struct pawl_error *err)
{
    json_t *articles = load_articles(db, sqlite3_column_int64(rows, 0), err);
    if (!articles)
        return NULL;
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o}", "title", sql_text(rows, 1), "summary",
                     sql_text(rows, 2), "article_count",
                     (json_int_t)sqlite3_column_int64(rows, 3), "outlets",
                     (json_int_t)sqlite3_column_int64(rows, 4), "first_at",
                     time_text(sqlite3_column_int64(rows, 5)), "last_at",
                     time_text(sqlite3_column_int64(rows, 6)), "articles", articles);
}

static bool add_events(sqlite3 *db, json_t *edition, const struct day *day, struct pawl_error *err)
{
    json_t *events = json_array();
    bool good = json_object_set_new(edition, "events", events) == 0;
    sqlite3_stmt *rows = sql_ask(
        db, events_of_day, WITH(NUMBER(day->from), NUMBER(day->to), NUMBER(EVENTS_MAX)), err);
    while (good && sql_next(rows))
        good = json_array_append_new(events, event_of(db, rows, err)) == 0;
    return sql_end(rows, err) && good;
}

static bool add_feeds(sqlite3 *db, json_t *edition, struct pawl_error *err)
{
    json_t *feeds = json_array();
    bool good = json_object_set_new(edition, "feeds", feeds) == 0;
    sqlite3_stmt *rows = sql_ask(db, "SELECT name, error FROM feeds WHERE active = 1 ORDER BY id",
                                 WITH_NOTHING, err);
    while (good && sql_next(rows))
        good = json_array_append_new(feeds, json_pack("{s:s, s:s?}", "name", sql_text(rows, 0),
                                                      "error", sqlite3_column_text(rows, 1)))
            == 0;
    return sql_end(rows, err) && good;
}

static bool add_count(sqlite3 *db, json_t *edition, const struct day *day, struct pawl_error *err)
{
    sqlite3_stmt *rows = sql_ask(db, "SELECT count(*) FROM raw_articles"
                                     " WHERE published_at >= ? AND published_at < ?",
                                 WITH(NUMBER(day->from), NUMBER(day->to)), err);
    int64_t count = sql_next(rows) ? sqlite3_column_int64(rows, 0) : 0;
    return sql_end(rows, err)
        && json_object_set_new(edition, "article_count", json_integer(count)) == 0;
}

static bool fill(sqlite3 *db, json_t *edition, const char *text, int64_t now,
                 struct pawl_error *err)
{
    struct day day;
    char title[TITLE_BYTES];
    if (!choose_day(db, text, now, &day, err))
        return false;
    date_title(day.from, title);
    return json_object_set_new(edition, "day", json_string(day.text)) == 0
        && json_object_set_new(edition, "title", json_string(title)) == 0
        && add_neighbour(db, edition, "previous", last_before, day.from, err)
        && add_neighbour(db, edition, "next", first_after, day.to, err)
        && add_events(db, edition, &day, err) && add_count(db, edition, &day, err)
        && add_feeds(db, edition, err);
}

json_t *edition_load(sqlite3 *db, const char *day, int64_t now, struct pawl_error *err)
{
    *err = (struct pawl_error){ .code = PAWL_NO_MEMORY, .message = "out of memory" };
    json_t *edition = json_object();
    bool good = edition && sql_run(db, "BEGIN", WITH_NOTHING, err)
        && fill(db, edition, day, now, err);
    struct pawl_error ignored;
    (void)sql_run(db, "COMMIT", WITH_NOTHING, &ignored);  // it only read; and BEGIN may have failed
    if (good)
        return edition;
    json_decref(edition);
    return NULL;
}
