// brief.retain: purges what is old and what nothing needs.
//
// Only the tables below may be purged, in this order, each by its own condition. A row that a
// published brief refers to stays, and what belongs to it: the condition says so, and the foreign
// keys of the immutable tables would refuse it besides. All in the one transaction of the commit; a
// run purges a bounded number of rows, and the rest is the next one's (SLOT-13).
#include <stdio.h>

#include "brief.h"
#include "point.h"
#include "sql.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))
#define OLD_CLUSTERS \
    "(SELECT c.id FROM event_clusters c WHERE c.last_at < ?1" \
    " AND NOT EXISTS (SELECT 1 FROM brief_items i WHERE i.cluster_id = c.id)" \
    " ORDER BY c.id LIMIT 500)"

// ?1: what is older than this may go.
static const struct {
    const char *table, *which;
} purgeable[] = {
    { "cluster_articles", "cluster_id IN " OLD_CLUSTERS },
    { "event_clusters", "id IN " OLD_CLUSTERS
                        " AND NOT EXISTS (SELECT 1 FROM cluster_articles l"
                        "  WHERE l.cluster_id = event_clusters.id)" },
    { "raw_articles", "id IN (SELECT a.id FROM raw_articles a WHERE a.published_at < ?1"
                      " AND NOT EXISTS (SELECT 1 FROM brief_items i WHERE i.raw_article_id = a.id)"
                      " AND NOT EXISTS (SELECT 1 FROM cluster_articles l"
                      "  WHERE l.raw_article_id = a.id)"
                      " AND NOT EXISTS (SELECT 1 FROM event_clusters c"
                      "  WHERE c.seed_article_id = a.id)"
                      " ORDER BY a.id LIMIT 5000)" },
    { "feed_log", "id IN (SELECT id FROM feed_log WHERE at < ?1 ORDER BY id LIMIT 5000)" },
};

static bool purge(sqlite3 *db, size_t i, int64_t before, int64_t *rows, struct pawl_error *err)
{
    char sql[1024];
    snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s", purgeable[i].table, purgeable[i].which);
    bool good = sql_run(db, sql, WITH(NUMBER(before)), err);
    *rows = good ? sqlite3_changes(db) : 0;
    return good;
}

// The time is settled here, so that a run that is repeated says what the first one would have said.
static bool prepare(struct pawl_run *run, void *context)
{
    const struct brief *brief = context;
    int64_t before = brief_now(brief) - brief->keep_s;
    point("retain.prepared");
    return brief_found(run, json_pack("{s:I}", "before", (json_int_t)before));
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct brief *brief = context;
    struct pawl_error err = {0};
    char counts[200] = "";
    int64_t all = 0;
    json_t *found = json_loads(pawl_result_of(run), 0, NULL);
    int64_t before = json_integer_value(json_object_get(found, "before"));
    json_decref(found);
    for (size_t i = 0, used = 0; i < countof(purgeable); i++) {
        int64_t rows;
        if (!purge(pawl_tx_sqlite(tx), i, before, &rows, &err))
            return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
        point("retain.half");
        all += rows;
        used += (size_t)snprintf(counts + used, sizeof(counts) - used, "%s%lld of %s",
                                 i ? ", " : "", (long long)rows, purgeable[i].table);
    }
    point("retain.stored");
    pawl_rows_processed(run, all);
    diary_note(&brief->diary, run, "deleted %s", counts);
    return true;
}

bool retain_register(struct brief *brief, struct pawl_error *err)
{
    struct pawl_handler handler = {
        .job_type = "brief.retain", .prepare = prepare, .commit = commit, .context = brief,
        .policy = "scheduled",
    };
    return pawl_handle(brief->pawl, &handler, err);
}
