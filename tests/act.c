#include "act.h"

#include <dirent.h>
#include <unistd.h>

#include "engine/log.h"

static void fill_words(struct act *act, char **words, const char *const *given)
{
    words[0] = act->program;
    words[1] = act->mark;
    for (size_t i = 0; i < ACT_WORDS_MAX && given[i]; i++) {
        size_t bytes = strlen(given[i]) + 1;
        words[2 + i] = arena_alloc(test_arena(), bytes);
        memcpy(words[2 + i], given[i], bytes);
    }
}

struct act *act_new(const char *const *words)
{
    static int number;
    struct act *act = arena_new(test_arena(), struct act, 1);
    const char *build = getenv("BUILD");
    snprintf(act->program, sizeof act->program, "%s/tests/programs/unruly",
             build ? build : "build");
    snprintf(act->job_type, sizeof act->job_type, "act-%d", ++number);
    snprintf(act->mark, sizeof act->mark, "mark-%d-%d", (int)getpid(), number);
    fill_words(act, act->run, words);
    act->type = (struct command_type){ .job_type = act->job_type,
                                       .run = act->run,
                                       .policy = "once" };
    return act;
}

void act_commit(struct act *act, const char *const *words)
{
    fill_words(act, act->commit, words);
    act->type.commit = act->commit;
}

void act_handle(struct pawl *pawl, const struct act *act)
{
    struct pawl_error err = {0};
    struct pawl_policy once = { .name = "once", .max_attempts = 1 };
    if (!pawl_define_policy(pawl, &once, &err))
        EXPECT(err.code == PAWL_CONFLICT);  // an earlier act has
    MUST(command_handle(pawl, &act->type, &err));
}

void act_enqueue(struct shop *shop, struct act *act, const char *payload)
{
    act->ticket = shop_enqueue(shop, (struct pawl_job){ act->job_type, .payload = payload });
}

void act_begin(struct shop *shop, struct act *act)
{
    act_handle(shop->pawl, act);
    shop_start(shop);
    act_enqueue(shop, act, "{\"a\":1}");
}

// ----- looking, behind the library's back

struct view {
    struct db *db;
    struct tx tx;
    int64_t job;
};

static void view_end(struct view *view)
{
    tx_end(&view->tx);
    db_close(view->db);
}

static void look(struct shop *shop, const struct act *act, struct view *view)
{
    struct pawl_error err = {0};
    struct id id;
    struct db_options options = { .url = str_of(shop->url), .read_only = true };
    EXPECT(id_parse(str_of(act->ticket.job_id), &id));
    MUST(db_open(&view->db, &options, &err));
    MUST(tx_begin(view->db, TX_READ, test_arena(), &view->tx, &err));
    view->job = id.high;
}

struct str act_end(struct shop *shop, struct act *act)
{
    struct pawl_error err = {0};
    struct pawl_status status = shop_wait(shop, &act->ticket);
    EXPECT_INT(act_alive(act), 0);
    if (!status.failure_type[0])
        return str_of(status.state);
    SCOPED(view) struct view view = {0};
    struct execution *all;
    size_t count;
    look(shop, act, &view);
    MUST(executions_of_job(&view.tx, view.job, &all, &count, &err));
    EXPECT(count > 0);
    return str_format(test_arena(), "%s %s: %.*s", status.failure_type,
                      error_class_name(all[count - 1].error_class),
                      STR(all[count - 1].error_message));
}

struct str act_log(struct shop *shop, const struct act *act)
{
    struct pawl_error err = {0};
    struct log_page page = { .limit = 100000 };
    struct buf all = buf_new(test_arena(), 1 << 24);
    SCOPED(view) struct view view = {0};
    look(shop, act, &view);
    MUST(logs_of_job(&view.tx, view.job, &page, &err));
    for (size_t i = 0; i < page.count; i++) {
        EXPECT_INT(page.lines[i].seq, i + 1);
        EXPECT(page.lines[i].at > 0);
        buf_addf(&all, "<%.*s>", STR(page.lines[i].text));
    }
    return buf_str(&all);
}

struct str act_result(struct shop *shop, struct act *act)
{
    char *json = NULL;
    struct pawl_error err = {0};
    MUST(pawl_get_result(shop->pawl, act->ticket.job_id, &json, &err));
    struct str kept = str_dup(test_arena(), str_of(json));
    pawl_free(json);
    return kept;
}

// ----- processes

// A command line is its words with a NUL behind each.
static bool has_mark(const char *pid, const char *mark)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return n > 0 && memmem(text, n, mark, strlen(mark) + 1) != NULL;
}

size_t act_alive(const struct act *act)
{
    size_t count = 0;
    DIR *proc = opendir("/proc");
    EXPECT(proc != NULL);
    for (struct dirent *entry; (entry = readdir(proc));)
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9'
              && has_mark(entry->d_name, act->mark);
    closedir(proc);
    return count;
}
