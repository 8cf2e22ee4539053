// The plan. The server is loaded first, so that it later starts on a store that has seen work; what
// it takes at rest is measured on a process that has done nothing yet.
#include "bench/http_parts.h"

#include <sys/resource.h>

#include "bench/parts.h"
#include "bench/place.h"

void http_note(struct http_stand *stand, enum http_figure figure, double value)
{
    stand->bench->figures[figure] = value;
}

struct str http_job(struct arena *arena, const char *type, struct str payload, long number)
{
    return str_format(arena, "{\"job_type\":\"%s\",\"queue\":\"" STAND_QUEUE "\",\"payload\":%.*s,"
                             "\"idempotency_key\":\"bench-%ld\"}",
                      type, STR(payload), number);
}

// Every long-poll is an open file, here and in the server, which inherits the limit.
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);  // else fewer of them wait
}

// ----- under load

static bool beside_library(struct http_stand *s, struct pawl_error *err)
{
    const struct bench_options *o = &s->bench->options;
    struct arena *arena = s->bench->arena;
    struct stand embedded = {0};
    struct stand_options options = {
        .store = str_cstr(arena, str_format(arena, "sqlite:%s", place_path(arena, PLACE_BASE))),
        .batch = o->batch, .orgs = 1, .types = 1, .payload = s->payload, .workers = 1,
    };
    bool done = stand_open(&embedded, &options, err) && measure_http_load(s, &embedded, err);
    stand_end(&embedded);
    place_clear(PLACE_BASE);
    return done;
}

static bool beside_control(struct http_stand *s, struct pawl_error *err)
{
    struct control *control = NULL;
    bool done = control_open(&control, place_path(s->bench->arena, PLACE_CONTROL), s->payload, err)
        && measure_http_pace(s, control, err);
    control_close(control);
    place_clear(PLACE_CONTROL);
    return done;
}

static bool measure_loaded(struct http_stand *s, struct pawl_error *err)
{
    double ready_s;
    if (!served_start(&s->server, &ready_s, err) || !beside_library(s, err)
        || !beside_control(s, err))
        return false;
    http_note(s, HTTP_RSS_BYTES, (double)served_resident_bytes_max(&s->server));
    return served_stop(&s->server, err);
}

// ----- the whole

static bool measure(struct http_stand *s, struct pawl_error *err)
{
    return measure_loaded(s, err)
        && measure_http_start(s, err)
        && measure_http_idle(s, err)
        && measure_http_longpolls(s, err)
        && served_stop(&s->server, err);
}

bool http_bench_run(struct http_bench *b, struct pawl_error *err)
{
    struct http_stand stand = { .bench = b,
                                .payload = payload_of(b->arena, b->options.payload_bytes) };
    raise_limit();
    if (!place_make(b->options.directory, err))
        return false;
    bool done = measure(&stand, err);
    served_end(&stand.server);
    place_remove();
    return done;
}
