// brief.cluster: groups articles by the event they tell of, then publishes the days that are over.
//
// prepare reads the articles without an event and those around them in time, and decides; commit
// writes links. A link that is there already, an article that was purged or got an event meanwhile:
// nothing happens, and article_count rises only with a link that was really inserted (SLOT-12).
#include <stdio.h>
#include <stdlib.h>

#include "brief.h"
#include "point.h"
#include "publish.h"
#include "similar.h"
#include "sql.h"

enum { NEW_MAX = 1000, AROUND_MAX = 3000, WINDOW_S = 36 * 3600 };
static const struct similar_terms similar_enough = { .threshold = 0.20, .window_s = WINDOW_S };

struct stories {
    struct story *all;
    size_t count;
    int64_t first_at, last_at;  // of those without an event
};

// ----- reading

static bool read_rows(struct stories *stories, sqlite3_stmt *rows, size_t max,
                      struct pawl_error *err)
{
    for (; stories->count < max && sql_next(rows); stories->count++) {
        struct story *story = &stories->all[stories->count];
        *story = (struct story){ .id = sqlite3_column_int64(rows, 0),
                                 .at = sqlite3_column_int64(rows, 1),
                                 .cluster = sqlite3_column_int64(rows, 2) };
        bag_add(&story->bag, sql_text(rows, 3), 2);  // a headline says more than other lines
        bag_add(&story->bag, sql_text(rows, 4), 1);
    }
    return sql_end(rows, err);
}

static int by_time(const void *a, const void *b)
{
    const struct story *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static const char *const new_articles =
    "SELECT a.id, a.published_at, 0, a.title, a.summary FROM raw_articles a"
    " WHERE NOT EXISTS (SELECT 1 FROM cluster_articles l WHERE l.raw_article_id = a.id)"
    " ORDER BY a.published_at, a.id LIMIT ?";
static const char *const articles_around =
    "SELECT a.id, a.published_at, l.cluster_id, a.title, a.summary FROM raw_articles a"
    " JOIN cluster_articles l ON l.raw_article_id = a.id"
    " WHERE a.published_at BETWEEN ? AND ? ORDER BY a.published_at DESC, a.id DESC LIMIT ?";

// The oldest articles without an event; more than NEW_MAX are left to the next run.
static bool read_new(sqlite3 *db, struct stories *stories, struct pawl_error *err)
{
    sqlite3_stmt *rows = sql_ask(db, new_articles, WITH(NUMBER(NEW_MAX)), err);
    if (!read_rows(stories, rows, NEW_MAX, err))
        return false;
    if (stories->count > 0) {
        stories->first_at = stories->all[0].at;
        stories->last_at = stories->all[stories->count - 1].at;
    }
    return true;
}

static bool read_around(sqlite3 *db, struct stories *stories, struct pawl_error *err)
{
    int64_t from = stories->first_at - WINDOW_S, to = stories->last_at + WINDOW_S;
    sqlite3_stmt *rows =
        sql_ask(db, articles_around, WITH(NUMBER(from), NUMBER(to), NUMBER(AROUND_MAX)), err);
    return read_rows(stories, rows, NEW_MAX + AROUND_MAX, err);
}

static bool read_stories(const struct brief *brief, struct stories *stories, struct pawl_error *err)
{
    stories->all = malloc((NEW_MAX + AROUND_MAX) * sizeof(*stories->all));
    if (!stories->all) {
        *err = (struct pawl_error){ .code = PAWL_NO_MEMORY, .message = "out of memory" };
        return false;
    }
    sqlite3 *db = sql_open_reader(brief->store, err);
    bool good = db && read_new(db, stories, err)
        && (stories->count == 0 || read_around(db, stories, err));
    sqlite3_close(db);
    if (good)
        qsort(stories->all, stories->count, sizeof(*stories->all), by_time);
    return good;
}

// ----- deciding

// [article, cluster, seed] for each that had no event: one of the last two is 0.
static json_t *decisions(struct stories *stories)
{
    json_t *links = json_array();
    bool *is_new = calloc(stories->count + 1, sizeof(*is_new));
    for (size_t i = 0; is_new && i < stories->count; i++)
        is_new[i] = stories->all[i].cluster == 0;
    bool good = links && is_new
        && similar_assign(stories->all, stories->count, &similar_enough);
    for (size_t i = 0; good && i < stories->count; i++) {
        const struct story *story = &stories->all[i];
        if (is_new[i])
            good = json_array_append_new(links, json_pack("[I, I, I]", (json_int_t)story->id,
                                                          (json_int_t)story->cluster,
                                                          (json_int_t)story->seed))
                == 0;
    }
    free(is_new);
    if (good)
        return json_pack("{s:o}", "links", links);
    json_decref(links);
    return NULL;
}

static bool prepare(struct pawl_run *run, void *context)
{
    struct stories stories = {0};
    struct pawl_error err = {0};
    bool good = read_stories(context, &stories, &err)
        || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    point("cluster.read");
    good = good && brief_found(run, decisions(&stories));
    point("cluster.prepared");
    free(stories.all);
    return good;
}

// ----- the effect

struct tally {
    int64_t clusters, links, published;
};

// An event begins with an article that is still there and still has none.
static const char *const insert_event =
    "INSERT INTO event_clusters (seed_article_id, title, first_at, last_at, article_count)"
    " SELECT a.id, a.title, a.published_at, a.published_at, 0 FROM raw_articles a WHERE a.id = ?"
    " AND NOT EXISTS (SELECT 1 FROM cluster_articles l WHERE l.raw_article_id = a.id)"
    " ON CONFLICT (seed_article_id) DO NOTHING";
static const char *const insert_link =
    "INSERT INTO cluster_articles (cluster_id, raw_article_id)"
    " SELECT c.id, a.id FROM event_clusters c, raw_articles a"
    " WHERE (c.id = ? OR c.seed_article_id = ?) AND a.id = ? ON CONFLICT DO NOTHING";
static const char *const count_link =
    "UPDATE event_clusters SET article_count = article_count + 1,"
    " first_at = min(first_at, (SELECT published_at FROM raw_articles WHERE id = ?1)),"
    " last_at = max(last_at, (SELECT published_at FROM raw_articles WHERE id = ?1))"
    " WHERE id = (SELECT cluster_id FROM cluster_articles WHERE raw_article_id = ?1)";

struct link {
    int64_t article, cluster, seed;
};

static struct link link_of(const json_t *row)
{
    return (struct link){ json_integer_value(json_array_get(row, 0)),
                          json_integer_value(json_array_get(row, 1)),
                          json_integer_value(json_array_get(row, 2)) };
}

static bool store_link(sqlite3 *db, const struct link *link, struct tally *tally,
                       struct pawl_error *err)
{
    if (link->article == link->seed) {
        if (!sql_run(db, insert_event, WITH(NUMBER(link->seed)), err))
            return false;
        tally->clusters += sqlite3_changes(db);
    }
    if (!sql_run(db, insert_link,
                 WITH(NUMBER(link->cluster), NUMBER(link->seed), NUMBER(link->article)), err))
        return false;
    if (sqlite3_changes(db) == 0)
        return true;
    tally->links++;
    return sql_run(db, count_link, WITH(NUMBER(link->article)), err);
}

static bool store_all(sqlite3 *db, const json_t *found, struct tally *tally,
                      struct pawl_error *err)
{
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get(found, "links"), i, row) {
        struct link link = link_of(row);
        if (!store_link(db, &link, tally, err))
            return false;
        point("cluster.half");
    }
    return true;
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct brief *brief = context;
    struct tally tally = {0};
    struct pawl_error err = {0};
    sqlite3 *db = pawl_tx_sqlite(tx);
    json_t *found = json_loads(pawl_result_of(run), 0, NULL);
    bool stored = store_all(db, found, &tally, &err)
        && publish_days(db, brief_now(brief), &tally.published, &err);
    json_decref(found);
    point("cluster.stored");
    if (!stored)
        return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    pawl_rows_processed(run, tally.links);
    diary_note(&brief->diary, run,
               "%lld articles in clusters, %lld clusters new, %lld days published",
               (long long)tally.links, (long long)tally.clusters, (long long)tally.published);
    return true;
}

bool cluster_register(struct brief *brief, struct pawl_error *err)
{
    struct pawl_handler handler = {
        .job_type = "brief.cluster", .prepare = prepare, .commit = commit, .context = brief,
        .policy = "scheduled",
    };
    return pawl_handle(brief->pawl, &handler, err);
}
