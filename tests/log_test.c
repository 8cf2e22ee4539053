// The server's log: lines that a machine reads, without secrets, and never in anybody's way.
#include "shop.h"

#include <limits.h>
#include <unistd.h>

#include "base/json.h"
#include "server/log.h"

static json_t *parsed(struct str line)
{
    json_t *value = NULL;
    struct pawl_error err = {0};
    EXPECT(line.n > 0 && line.n <= LOG_ENTRY_BYTES_MAX && line.s[line.n - 1] == '\n');
    EXPECT(memchr(line.s, '\n', line.n) == line.s + line.n - 1);
    MUST(json_parse((struct str){ line.s, line.n - 1 }, LOG_ENTRY_BYTES_MAX, &value, &err));
    return value;
}

static const char *field(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text ? text : "";
}

static bool says(const json_t *line, const char *name, const char *text)
{
    return strcmp(field(line, name), text) == 0;
}

// ----- lines

TEST(OPS_12_a_line_has_what_it_is_about)
{
    struct log_entry entry = {
        .level = LOG_LEVEL_WARNING,
        .event = "RUN_ENDED",
        .message = S("failed (timeout): \"too\" long\n"),
        .about = { S("r-1"), S("c-1"), S("j-1"), S("report"), S("o-1"), S("p-1"), 3 },
        .fields = { LOG_TEXT("route", S("/v1/jobs/{id}")), LOG_INT("status", 200) },
    };
    SCOPED(json) json_t *line = parsed(log_line(test_arena(), &entry, 1767225600123000));
    EXPECT(says(line, "at", "2026-01-01T00:00:00.123Z"));
    EXPECT(says(line, "level", "warning"));
    EXPECT(says(line, "event", "RUN_ENDED"));
    EXPECT(says(line, "message", "failed (timeout): \"too\" long\n"));
    EXPECT(says(line, "request_id", "r-1") && says(line, "correlation_id", "c-1"));
    EXPECT(says(line, "job_id", "j-1") && says(line, "job_type", "report"));
    EXPECT(says(line, "org_id", "o-1") && says(line, "project_id", "p-1"));
    EXPECT_INT(json_integer_value(json_object_get(line, "attempt")), 3);
    EXPECT(says(line, "route", "/v1/jobs/{id}"));
    EXPECT_INT(json_integer_value(json_object_get(line, "status")), 200);
}

TEST(OPS_12_a_line_about_a_job_says_so_when_it_has_no_project)
{
    struct log_entry of_job = { .event = "X", .about.job_id = S("j-1") };
    struct log_entry of_none = { .event = "X" };
    SCOPED(json) json_t *with = parsed(log_line(test_arena(), &of_job, 0));
    SCOPED(json) json_t *without = parsed(log_line(test_arena(), &of_none, 0));
    EXPECT(json_is_null(json_object_get(with, "project_id")));
    EXPECT(!json_object_get(without, "project_id"));
}

TEST(OPS_12_secrets_are_masked_wherever_a_text_is)
{
    struct str secret = S("could not log in with password=hunter2hunter2 at host");
    struct log_entry entry = {
        .event = "X",
        .message = secret,
        .about.correlation_id = secret,
        .fields = { LOG_TEXT("detail", secret) },
    };
    struct str line = log_line(test_arena(), &entry, 0);
    EXPECT(!strstr(line.s, "hunter2"));
    SCOPED(json) json_t *value = parsed(line);
    EXPECT(strstr(field(value, "message"), "could not log in") != NULL);
}

// Every byte there is, each as often as it takes to fill a line.
TEST(OPS_12_whatever_the_bytes_a_line_is_valid_and_bounded)
{
    enum { BYTES = 10000 };
    static const char *const names[] = { "field.0", "field.1", "field.2", "field.3",
                                         "field.4", "field.5", "field.6", "field.7" };
    _Static_assert(countof(names) == LOG_FIELDS_MAX, "as many as there can be");
    for (int byte = 1; byte < 256; byte++) {
        char *bytes = arena_new(test_arena(), char, BYTES + 1);
        memset(bytes, byte, BYTES);
        struct str text = { bytes, BYTES };
        struct log_entry entry = {
            .event = "X",
            .message = text,
            .about = { text, text, text, text, text, text, INT64_MAX },
        };
        for (size_t i = 0; i < LOG_FIELDS_MAX; i++)
            entry.fields[i] = (struct log_field){ .name = names[i], .text = text };
        struct str line = log_line(test_arena(), &entry, 0);
        EXPECT(utf8_valid(line));
        json_decref(parsed(line));
    }
}

TEST(OPS_12_bytes_that_are_no_characters_are_replaced)
{
    struct log_entry entry = { .event = "X", .message = S("a\xff\xc3(b\xe2\x82") };
    SCOPED(json) json_t *line = parsed(log_line(test_arena(), &entry, 0));
    EXPECT(says(line, "message", "a\xef\xbf\xbd\xef\xbf\xbd(b\xef\xbf\xbd\xef\xbf\xbd"));
}

// ----- the way out

struct pipe_log {
    int ends[2];
    struct server_log *log;
};

static struct pipe_log open_on_pipe(enum log_level level)
{
    struct pipe_log p;
    struct pawl_error err = {0};
    EXPECT_INT(pipe(p.ends), 0);
    MUST(log_open(&p.log, &(struct log_options){ .fd = p.ends[1], .level = level }, &err));
    return p;
}

// All that came out. The writing end must be closed.
static struct str read_all(int fd)
{
    struct buf all = buf_new(test_arena(), 64 << 20);
    char piece[65536];
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;)
        buf_add(&all, (struct str){ piece, (size_t)n });
    EXPECT(!all.full);
    return buf_str(&all);
}

static struct log_entry numbered(int64_t n)
{
    return (struct log_entry){ .level = LOG_LEVEL_INFO,
                               .event = "COUNTED",
                               .message = S("one of many"),
                               .fields = { LOG_INT("n", n) } };
}

TEST(OPS_12_lines_come_out_whole_and_in_order)
{
    struct pipe_log p = open_on_pipe(LOG_LEVEL_INFO);
    for (int64_t i = 0; i < 100; i++) {
        struct log_entry entry = numbered(i);
        log_write(p.log, &entry);
        entry.level = LOG_LEVEL_DEBUG;
        log_write(p.log, &entry);  // below the level
    }
    log_close(p.log, SECONDS(60));
    close(p.ends[1]);
    struct str rest = read_all(p.ends[0]), line;
    for (int64_t i = 0; i < 100; i++) {
        EXPECT(str_cut(rest, '\n', &line, &rest));
        SCOPED(json) json_t *value = parsed((struct str){ line.s, line.n + 1 });
        EXPECT_INT(json_integer_value(json_object_get(value, "n")), i);
    }
    EXPECT_INT(rest.n, 0);
    close(p.ends[0]);
}

struct reading {
    int fd;
    struct buf all;
    struct arena arena;
};

static void *read_on(void *self)
{
    struct reading *r = self;
    char piece[65536];
    for (ssize_t n; (n = read(r->fd, piece, sizeof piece)) > 0;)
        buf_add(&r->all, (struct str){ piece, (size_t)n });
    return NULL;
}

// Nobody reads: writing goes on, and what was lost is told to who reads at last.
TEST(OPS_12_a_reader_that_stops_reading_costs_lines_and_each_is_accounted_for)
{
    enum { LINES = 20000 };  // more than the pipe and both buffers hold
    struct pipe_log p = open_on_pipe(LOG_LEVEL_INFO);
    for (int64_t i = 0; i < LINES; i++) {
        struct log_entry entry = numbered(i);
        log_write(p.log, &entry);
    }
    struct reading reading = { .fd = p.ends[0] };
    reading.all = buf_new(&reading.arena, 64 << 20);
    pthread_t reader;
    EXPECT_INT(pthread_create(&reader, NULL, read_on, &reading), 0);
    log_close(p.log, SECONDS(60));
    close(p.ends[1]);
    pthread_join(reader, NULL);
    int64_t written = 0, dropped = 0, last = -1;
    struct str rest = buf_str(&reading.all), line;
    while (str_cut(rest, '\n', &line, &rest)) {
        SCOPED(json) json_t *value = parsed((struct str){ line.s, line.n + 1 });
        if (says(value, "event", "LOG_DROPPED")) {
            dropped += json_integer_value(json_object_get(value, "dropped"));
            continue;
        }
        int64_t n = json_integer_value(json_object_get(value, "n"));
        EXPECT(n > last);
        last = n;
        written++;
    }
    EXPECT(dropped > 0);
    EXPECT_INT(written + dropped, LINES);
    arena_end(&reading.arena);
    close(p.ends[0]);
}

TEST(OPS_12_a_log_nobody_can_write_to_harms_nobody)
{
    struct pipe_log p = open_on_pipe(LOG_LEVEL_INFO);
    close(p.ends[0]);  // without this being handled, a signal ends the program
    for (int64_t i = 0; i < 1000; i++) {
        struct log_entry entry = numbered(i);
        log_write(p.log, &entry);
    }
    log_close(p.log, SECONDS(60));
    close(p.ends[1]);
    log_write(NULL, &(struct log_entry){ .event = "X" });
    log_close(NULL, 0);
}

TEST(OPS_12_a_stuck_log_does_not_keep_the_program_from_ending)
{
    struct pipe_log p = open_on_pipe(LOG_LEVEL_INFO);
    for (int64_t i = 0; i < 5000; i++) {
        struct log_entry entry = numbered(i);
        log_write(p.log, &entry);
    }
    log_close(p.log, 0);  // comes back though nobody reads
    close(p.ends[0]);
    close(p.ends[1]);
}

// ----- from the library

static bool work(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

// Jobs run to their end while nobody reads the log, and each line about one says all it must.
TEST(OPS_12_jobs_do_not_wait_for_the_log_and_their_lines_have_every_field)
{
    enum { JOBS = 1500 };
    struct pipe_log p = open_on_pipe(LOG_LEVEL_INFO);
    struct shop *shop = calloc(1, sizeof *shop);
    shop->options = (struct pawl_options){ .virtual_time = true };
    shop_open(shop);
    shop_leave(shop);
    shop->options.log = log_of_library;
    shop->options.log_context = p.log;
    shop_enter(shop);
    shop_handle(shop, (struct pawl_handler){ "report", .prepare = work });
    struct pawl_ticket last = {0};
    for (int i = 0; i < JOBS; i++)
        last = shop_enqueue(shop, (struct pawl_job){
            "report", .project_id = "00000000-0000-7000-8000-00000000000a" });
    shop_work(shop);
    EXPECT_STATE(shop, last, "SUCCEEDED");
    shop_close(shop);
    free(shop);
    char first[PIPE_BUF];
    ssize_t n = read(p.ends[0], first, sizeof first);
    EXPECT(n > 0);
    struct str line, rest = { first, (size_t)n };
    EXPECT(str_cut(rest, '\n', &line, &rest));
    SCOPED(json) json_t *value = parsed((struct str){ line.s, line.n + 1 });
    static const char *const names[] = { "at", "level", "event", "message", "request_id",
                                         "correlation_id", "job_id", "job_type", "org_id" };
    for (size_t i = 0; i < countof(names); i++)
        EXPECT(*field(value, names[i]));
    EXPECT(says(value, "project_id", "00000000-0000-7000-8000-00000000000a"));
    EXPECT_INT(json_integer_value(json_object_get(value, "attempt")), 1);
    close(p.ends[0]);
    log_close(p.log, SECONDS(60));
    close(p.ends[1]);
}
