// Prepare beside, then one rename.
//
// A log belongs to whatever file lies beside it: the old store's log must never meet the new file.
// So the old store is settled first, until its file is all of it.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/time_text.h"
#include "engine/backup.h"
#include "engine/event.h"
#include "engine/queue.h"
#include "model/json_field.h"
#include "store/copy.h"
#include "store/lock_file.h"

struct putting {
    const struct restore *restore;
    struct restore_report *report;
    struct arena *arena;
    struct caller whole;  // the caller, for every org
    struct str store;     // paths
    const char *half, *aside;
};

static const char *beside(const struct putting *p, const char *path, const char *suffix)
{
    return str_format(p->arena, "%s%s", path, suffix).s;
}

static void stage(const struct putting *p, enum copy_stage at)
{
    const struct copy_audience *audience = &p->restore->audience;
    if (audience->stage)
        audience->stage(audience->self, at);
}

// What lies beside a store's file: three of them belong to the file, the last to its name.
static const char *const with_a_store[] = { "-wal", "-shm", "-journal", "-lock" };
enum { PARTS_OF_A_FILE = 3 };

static void remove_half(const struct putting *p)
{
    file_remove(p->half);
    file_remove(beside(p, p->half, ".artifacts"));  // an alias
    for (size_t i = 0; i < countof(with_a_store); i++)
        file_remove(beside(p, p->half, with_a_store[i]));
}

// `20261116T095753Z`, from RFC 3339.
static struct str moment(struct arena *arena, pawl_time now)
{
    struct str text = time_text(arena, now);
    struct buf name = buf_new(arena, text.n + 1);
    for (size_t i = 0; i < text.n && text.s[i] != '.'; i++)
        if (text.s[i] != '-' && text.s[i] != ':')
            buf_add_char(&name, text.s[i]);
    buf_add_char(&name, 'Z');
    return buf_str(&name);
}

static bool name_files(struct putting *p, struct pawl_error *err)
{
    char *lock = NULL;
    if (!lock_file_path(p->restore->store, &lock, err))  // it knows where links lead
        return false;
    p->store = str_dup(p->arena,
                       (struct str){ lock, strlen(lock) - strlen(LOCK_FILE_SUFFIX) });
    free(lock);
    struct str now = moment(p->arena, world_wall(p->restore->world));
    p->half = str_format(p->arena, "%.*s.restoring", STR(p->store)).s;
    p->aside = str_format(p->arena, "%.*s.before-restore-%.*s", STR(p->store), STR(now)).s;
    return !p->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to name the store");
}

static bool may_be_put(const struct putting *p, struct pawl_error *err)
{
    if (!file_there(p->restore->file))
        return fail(err, PAWL_NOT_FOUND, "there is no backup %s", p->restore->file);
    return p->restore->force || !file_there(p->store.s)
        || fail(err, PAWL_CONFLICT, "there is a store at %s already: --force puts the backup in "
                                    "its place and keeps it under another name",
                p->store.s);
}

static bool copy(struct putting *p, struct pawl_error *err)
{
    const struct copy_audience *audience = &p->restore->audience;
    struct copy_watch watch = { audience->self, audience->progress };
    struct str from = str_format(p->arena, "sqlite:%s", p->restore->file);
    struct db_options options = {
        .url = from,
        .world = p->restore->world,
        .read_only = true,
        .any_version = true,
    };
    struct db *db = NULL;
    remove_half(p);
    bool copied = db_open(&db, &options, err) && db_copy(db, p->half, &watch, err);
    db_close(db);
    return copied;
}

// Opening brings its schema up to date.
static bool open_half(const struct putting *p, bool any_version, struct db **db,
                      struct pawl_error *err)
{
    struct db_options options = {
        .url = str_format(p->arena, "sqlite:%s", p->half),
        .world = p->restore->world,
        .must_exist = true,
        .read_only = any_version,
        .any_version = any_version,
    };
    return db_open(db, &options, err);
}

static bool check(struct putting *p, struct pawl_error *err)
{
    struct db *db = NULL;
    int64_t version = 0;
    bool whole = open_half(p, true, &db, err) && db_intact(db, false, err)
              && schema_version(db, &version, err)
              && (version > 0 || fail(err, PAWL_DAMAGED, "%s holds no store", p->restore->file));
    db_close(db);
    return whole;
}

// What the old store has is left among them: nobody changes an artifact, and what no row names is
// removed by the next server.
static bool share_artifacts(struct putting *p, struct pawl_error *err)
{
    return files_share(beside(p, p->restore->file, ".artifacts"),
                       beside(p, p->store.s, ".artifacts"), &p->report->artifacts, err);
}

static bool verify_half(struct putting *p, struct pawl_error *err)
{
    const struct copy_audience *audience = &p->restore->audience;
    struct verify_options options = {
        .self = audience->self,
        .found = audience->found,
        .progress = audience->progress,
    };
    struct db *db = NULL;
    const char *alias = beside(p, p->half, ".artifacts");
    bool done = file_alias(beside(p, p->store.s, ".artifacts"), alias, err)
             && open_half(p, false, &db, err) && verify(db, &options, &p->report->found, err);
    db_close(db);
    file_remove(alias);
    if (!done || p->report->found.violations == 0)
        return done;
    return fail(err, PAWL_DAMAGED, "the records of %s contradict each other (%lld violations): "
                                   "it is not put in place",
                p->restore->file, (long long)p->report->found.violations);
}

static bool look_around(struct putting *p, struct tx *tx, struct pawl_error *err)
{
    struct queue_view *queues = NULL;
    size_t count = 0;
    if (!queues_list(tx, &queues, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        for (int place = 0; place < PLACE_RUNNING; place++)
            p->report->waiting += queues[i].at[place];
        p->report->running += queues[i].at[PLACE_RUNNING];
        if (!p->restore->hold || queues[i].paused_at)
            continue;
        if (!queue_pause(tx, queues[i].name, err))
            return false;
        p->report->queues_paused++;
    }
    return true;
}

static struct str detail(struct putting *p)
{
    struct str name = file_name(str_of(p->restore->file));
    const struct json_field fields[] = {
        { "backup", json_stringn(name.s, name.n) },
        { "newest", json_time_or_null(p->arena, p->report->newest) },
        { "held", json_boolean(p->restore->hold) },
    };
    SCOPED(json) json_t *object = json_object_of(fields, countof(fields));
    return object ? json_text(p->arena, object) : S("");
}

static bool newest_time(struct tx *tx, pawl_time *newest, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask_plain(tx, &rows, Q_CLOCK_NEWEST, err) && rows_number(&rows, newest, err);
}

static bool mark_in(struct putting *p, struct db *db, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(db, TX_WRITE, p->arena, &tx, err))
        return false;
    tx.caller = &p->whole;
    return newest_time(&tx, &p->report->newest, err) && look_around(p, &tx, err)
        && event_append_for(&tx, 0, S("store"), EVENT_STORE_RESTORED, detail(p), err)
        && tx_commit(&tx, err);
}

static bool mark(struct putting *p, struct pawl_error *err)
{
    struct db *db = NULL;
    bool marked = open_half(p, false, &db, err) && mark_in(p, db, err);
    db_close(db);
    return marked && store_settle(p->half, err);
}

// One that SQLite can no longer read keeps what there is of it: its log goes with it.
static bool put_aside(struct putting *p, struct pawl_error *err)
{
    struct pawl_error why = {0};
    const char *log = beside(p, p->store.s, "-wal");
    if (!file_there(p->store.s))
        return true;
    if (!files_share(beside(p, p->store.s, ".artifacts"), beside(p, p->aside, ".artifacts"), NULL,
                     err))
        return false;
    if (store_settle(p->store.s, &why))
        return true;
    if (why.code == PAWL_BUSY)
        return fail(err, PAWL_CONFLICT, "a program has store %s open: end it, then try again",
                    p->store.s);
    if (why.code != PAWL_DAMAGED)
        return fail(err, why.code, "%s", why.message);
    // defensive: SQLite takes its log away when it closes a file, unless somebody else has it open
    return !file_there(log) || file_move(log, beside(p, p->aside, "-wal"), err);
}

// The two take each other's names at once: there is never a moment without a store, in which a
// server that starts would make an empty one.
static bool place(struct putting *p, struct pawl_error *err)
{
    for (size_t i = 0; i < PARTS_OF_A_FILE; i++)
        file_remove(beside(p, p->store.s, with_a_store[i]));
    if (!file_there(p->store.s))
        return file_move(p->half, p->store.s, err);
    if (!file_move(p->half, p->aside, err) || !file_exchange(p->aside, p->store.s, err))
        return false;
    p->report->aside = p->aside;
    return true;
}

static bool put(struct putting *p, struct pawl_error *err)
{
    static const struct {
        enum copy_stage stage;
        bool (*run)(struct putting *p, struct pawl_error *err);
    } steps[] = {
        { STAGE_COPY, copy },
        { STAGE_CHECK, check },
        { STAGE_ARTIFACTS, share_artifacts },
        { STAGE_VERIFY, verify_half },
        { STAGE_MARK, mark },
        { STAGE_ASIDE, put_aside },
        { STAGE_PLACE, place },
    };
    for (size_t i = 0; i < countof(steps); i++) {
        stage(p, steps[i].stage);
        if (!steps[i].run(p, err)) {
            remove_half(p);
            return false;
        }
    }
    remove_half(p);  // its lock file
    stage(p, STAGE_DONE);
    return true;
}

bool restore_make(const struct restore *restore, struct restore_report *report,
                  struct arena *arena, struct pawl_error *err)
{
    *report = (struct restore_report){0};
    struct putting p = {
        .restore = restore,
        .report = report,
        .arena = arena,
        .whole = *restore->caller,
    };
    p.whole.org_id = S("");
    SCOPED(sole) struct sole sole = {0};
    return name_files(&p, err) && may_be_put(&p, err) && sole_take(&sole, restore->store, err)
        && put(&p, err);
}
