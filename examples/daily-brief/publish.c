// A day has the events that were in the news on it. The day is unique, so that publishing again
// does nothing, and the rows can neither change nor go.
#include "publish.h"

#include "dates.h"
#include "sql.h"

#define DAY "strftime('%Y-%m-%d', a.published_at, 'unixepoch')"
#define NEWS "cluster_articles l JOIN raw_articles a ON a.id = l.raw_article_id" \
             " JOIN event_clusters c ON c.id = l.cluster_id"

static const char *const insert_days =
    "INSERT INTO published_briefs (day, published_at)"
    " SELECT DISTINCT " DAY " AS day, ?1 FROM " NEWS
    " WHERE c.article_count > 1 AND day < ?2"
    " AND day NOT IN (SELECT p.day FROM published_briefs p) ORDER BY day";

// The headline is that of the article the event began with.
static const char *const insert_items =
    "INSERT INTO brief_items"
    " (brief_id, position, cluster_id, raw_article_id, headline, article_count)"
    " SELECT brief, position, cluster, seed, title, articles FROM ("
    "  SELECT p.id AS brief, e.id AS cluster, e.seed_article_id AS seed, e.title AS title,"
    "   e.article_count AS articles, row_number() OVER (PARTITION BY p.id"
    "    ORDER BY e.article_count DESC, e.first_at, e.id) AS position"
    "  FROM published_briefs p JOIN event_clusters e ON e.article_count > 1"
    "  WHERE NOT EXISTS (SELECT 1 FROM brief_items i WHERE i.brief_id = p.id)"
    "  AND EXISTS (SELECT 1 FROM " NEWS " WHERE c.id = e.id AND " DAY " = p.day))"
    " WHERE position <= 10";

bool publish_days(sqlite3 *db, int64_t now, int64_t *published, struct pawl_error *err)
{
    char today[DAY_BYTES];
    date_day(now, today);
    if (!sql_run(db, insert_days, WITH(NUMBER(now), TEXT(today)), err))
        return false;
    *published = sqlite3_changes(db);
    return sql_run(db, insert_items, WITH_NOTHING, err);
}
