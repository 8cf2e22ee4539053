// brief.ingest: reads every feed and stores the articles that are new.
//
// prepare fetches and parses, which may be repeated; what is new becomes the job's result, which
// has a limit, and with it the time the commit takes. A feed that does not fit is taken up to there
// and without its ETag, so that the next run is given the rest. commit inserts by the unique
// address and ignores what is there already, whoever put it there meanwhile (SLOT-10).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brief.h"
#include "feed.h"
#include "fetch.h"
#include "link.h"
#include "point.h"
#include "sql.h"

enum { BATCH_BYTES_MAX = 900 * 1024, BATCH_ARTICLES_MAX = 2000, FEEDS_MAX = 200 };

// One feed, in one run.
struct source {
    int64_t id;
    char name[128], url[1024], error[256];
    struct feed feed;  // articles that were read
};

struct ingestion {
    struct pawl_run *run;
    struct brief *brief;
    sqlite3 *db;
    struct source *sources;
    struct fetch *fetches;  // as many, in the same order
    size_t count, bytes, taken;
};

// ----- which feeds

// If there are more than one run can read, those that waited longest are read first.
static bool load_sources(struct ingestion *in, struct pawl_error *err)
{
    in->sources = calloc(FEEDS_MAX, sizeof(*in->sources));
    in->fetches = calloc(FEEDS_MAX, sizeof(*in->fetches));
    if (!in->sources || !in->fetches) {
        *err = (struct pawl_error){ .code = PAWL_NO_MEMORY, .message = "out of memory" };
        return false;
    }
    sqlite3_stmt *rows = sql_ask(in->db, "SELECT id, name, url, etag, modified FROM feeds"
                                         " WHERE active = 1"
                                         " ORDER BY coalesce(checked_at, 0), id LIMIT ?",
                                 WITH(NUMBER(FEEDS_MAX)), err);
    for (; sql_next(rows); in->count++) {
        struct source *source = &in->sources[in->count];
        struct fetch *fetch = &in->fetches[in->count];
        source->id = sqlite3_column_int64(rows, 0);
        snprintf(source->name, sizeof(source->name), "%s", sql_text(rows, 1));
        snprintf(source->url, sizeof(source->url), "%s", sql_text(rows, 2));
        snprintf(fetch->etag, sizeof(fetch->etag), "%s", sql_text(rows, 3));
        snprintf(fetch->modified, sizeof(fetch->modified), "%s", sql_text(rows, 4));
        fetch->source = source->url;
    }
    return sql_end(rows, err);
}

// ----- reading them

static bool go_on(void *context)
{
    const struct ingestion *in = context;
    return pawl_stopped(in->run) == PAWL_GO_ON;
}

static void fetched(void *context, struct fetch *fetch)
{
    struct ingestion *in = context;
    struct source *source = &in->sources[fetch - in->fetches];
    struct pawl_error err = {0};
    point("ingest.fetched");
    if (fetch->end == FETCH_FAILED)
        snprintf(source->error, sizeof(source->error), "%s", fetch->error);
    else if (fetch->end == FETCH_BODY
             && !feed_parse(&source->feed, fetch->body, fetch->length, &err))
        snprintf(source->error, sizeof(source->error), "%.255s", err.message);
    if (source->error[0])
        diary_warn(&in->brief->diary, in->run, "feed \"%s\": %s", source->name, source->error);
}

// ----- what is new

static bool is_known(struct ingestion *in, const char *url)
{
    struct pawl_error err;
    sqlite3_stmt *rows = sql_ask(in->db, "SELECT 1 FROM raw_articles WHERE url = ?",
                                 WITH(TEXT(url)), &err);
    bool known = sql_next(rows);
    return sql_end(rows, &err) && known;  // in doubt it is new: the unique address decides
}

// An article that retention would purge at once is not taken: it would come and go for ever.
static bool wanted(struct ingestion *in, const char *base, struct article *article)
{
    int64_t now = brief_now(in->brief);
    char url[sizeof(article->url)];
    if (!link_clean(base, article->url, url, sizeof(url)))
        return false;
    memcpy(article->url, url, sizeof(url));
    if (article->published_at <= 0 || article->published_at > now)
        article->published_at = now;
    return article->published_at >= now - in->brief->keep_s && !is_known(in, article->url);
}

// False when the batch is full.
static bool take(struct ingestion *in, json_t *articles, const struct article *article)
{
    json_t *row = json_pack("[s, s, s, I]", article->url, article->title, article->summary,
                            (json_int_t)article->published_at);
    size_t bytes = row ? json_dumpb(row, NULL, 0, JSON_COMPACT) + 1 : SIZE_MAX;
    bool fits = row && in->bytes + bytes <= BATCH_BYTES_MAX && in->taken < BATCH_ARTICLES_MAX;
    if (!fits || json_array_append(articles, row) != 0) {
        json_decref(row);
        return false;
    }
    json_decref(row);
    in->bytes += bytes;
    in->taken++;
    return true;
}

static json_t *outcome(struct ingestion *in, size_t i)
{
    struct source *source = &in->sources[i];
    struct fetch *fetch = &in->fetches[i];
    json_t *articles = json_array();
    bool whole = true;
    for (size_t k = 0; whole && k < source->feed.count; k++)
        if (wanted(in, fetch->address, &source->feed.articles[k]))
            whole = take(in, articles, &source->feed.articles[k]);
    // Of a feed that was not read the server's last words still hold; of one that makes no sense
    // nothing must be remembered, or it would be "not modified" for ever.
    bool keep = whole && (!source->error[0] || fetch->end == FETCH_FAILED);
    return json_pack("{s:I, s:s?, s:s?, s:s, s:s, s:o}", "feed", (json_int_t)source->id, "error",
                     source->error[0] ? source->error : NULL, "kind", source->feed.kind, "etag",
                     keep ? fetch->etag : "", "modified", keep ? fetch->modified : "", "articles",
                     articles);
}

static bool conclude(struct ingestion *in)
{
    json_t *feeds = json_array();
    bool whole = feeds != NULL;
    for (size_t i = 0; whole && i < in->count; i++)
        whole = json_array_append_new(feeds, outcome(in, i)) == 0;
    if (!whole) {
        json_decref(feeds);
        feeds = NULL;
    }
    return brief_found(in->run, feeds ? json_pack("{s:o}", "feeds", feeds) : NULL);
}

static bool prepare(struct pawl_run *run, void *context)
{
    struct ingestion in = { .run = run, .brief = context };
    struct pawl_error err = {0};
    struct fetch_how how = {
        .timeout_ms = in.brief->fetch_timeout_ms, .go_on = go_on, .done = fetched, .context = &in,
    };
    in.db = sql_open_reader(in.brief->store, &err);
    bool good = in.db && load_sources(&in, &err);
    if (!good)
        pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    good = good && fetch_all(in.fetches, in.count, &how) && conclude(&in);
    point("ingest.prepared");
    for (size_t i = 0; i < in.count; i++)
        feed_end(&in.sources[i].feed);
    free(in.sources);
    free(in.fetches);
    sqlite3_close(in.db);
    return good;
}

// ----- the effect

struct tally {
    int64_t feeds, bad, offered, stored;
};

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

// A line in the log when a feed breaks, breaks in another way, or mends.
static bool store_feed(sqlite3 *db, const json_t *feed, int64_t now, struct pawl_error *err)
{
    int64_t id = json_integer_value(json_object_get(feed, "feed"));
    const char *error = text_of(feed, "error");
    return sql_run(db, "INSERT INTO feed_log (feed_id, at, error) SELECT id, ?, ? FROM feeds"
                       " WHERE id = ? AND error IS NOT ?",
                   WITH(NUMBER(now), TEXT(error), NUMBER(id), TEXT(error)), err)
        && sql_run(db, "UPDATE feeds SET error = ?, kind = coalesce(?, kind), etag = ?,"
                       " modified = ?, checked_at = ? WHERE id = ?",
                   WITH(TEXT(error), TEXT(text_of(feed, "kind")), TEXT(text_of(feed, "etag")),
                        TEXT(text_of(feed, "modified")), NUMBER(now), NUMBER(id)),
                   err);
}

static bool store_article(sqlite3 *db, int64_t feed, const json_t *article, int64_t now,
                          struct pawl_error *err)
{
    return sql_run(db, "INSERT INTO raw_articles (feed_id, url, title, summary, published_at,"
                       " fetched_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO NOTHING",
                   WITH(NUMBER(feed), TEXT(json_string_value(json_array_get(article, 0))),
                        TEXT(json_string_value(json_array_get(article, 1))),
                        TEXT(json_string_value(json_array_get(article, 2))),
                        NUMBER(json_integer_value(json_array_get(article, 3))), NUMBER(now)),
                   err);
}

static bool store_all(sqlite3 *db, const json_t *found, int64_t now, struct tally *tally,
                      struct pawl_error *err)
{
    size_t i, k;
    json_t *feed, *article;
    json_array_foreach (json_object_get(found, "feeds"), i, feed) {
        if (!store_feed(db, feed, now, err))
            return false;
        tally->feeds++;
        tally->bad += text_of(feed, "error") != NULL;
        int64_t id = json_integer_value(json_object_get(feed, "feed"));
        json_array_foreach (json_object_get(feed, "articles"), k, article) {
            if (!store_article(db, id, article, now, err))
                return false;
            tally->offered++;
            tally->stored += sqlite3_changes(db);
            point("ingest.half");
        }
    }
    return true;
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct brief *brief = context;
    struct tally tally = {0};
    struct pawl_error err = {0};
    json_t *found = json_loads(pawl_result_of(run), 0, NULL);
    bool stored = store_all(pawl_tx_sqlite(tx), found, brief_now(brief), &tally, &err);
    json_decref(found);
    point("ingest.stored");
    if (!stored)
        return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    pawl_rows_processed(run, tally.stored);
    diary_note(&brief->diary, run,
               "%lld feeds read, %lld of them bad; %lld articles stored, %lld twice in the feeds",
               (long long)tally.feeds, (long long)tally.bad, (long long)tally.stored,
               (long long)(tally.offered - tally.stored));
    return true;
}

bool ingest_register(struct brief *brief, struct pawl_error *err)
{
    struct pawl_handler handler = {
        .job_type = "brief.ingest", .prepare = prepare, .commit = commit, .context = brief,
        .policy = "scheduled",
    };
    return pawl_handle(brief->pawl, &handler, err);
}
