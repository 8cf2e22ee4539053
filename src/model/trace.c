// Derived ids are hashes with a key that everybody knows: they need to differ, not to be secret.
#include "model/trace.h"

#include "base/hash.h"
#include "model/text_rule.h"

bool trace_exists(const struct trace *trace)
{
    return trace->id[0] != 0 || trace->id[1] != 0;
}

// Of digits that were checked.
static uint64_t hex(const char *digits, size_t n)
{
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++) {
        char c = digits[i];
        number = number << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return number;
}

bool trace_parse(struct str traceparent, struct trace *trace)
{
    *trace = (struct trace){0};
    if (!text_is_traceparent(traceparent))
        return false;
    const char *s = traceparent.s;
    *trace = (struct trace){
        .id = { hex(s + 3, 16), hex(s + 19, 16) },
        .span = hex(s + 36, 16),
        .sampled = hex(s + 53, 2) & 1,
    };
    return true;
}

struct str trace_text(struct arena *arena, const struct trace *trace)
{
    return str_format(arena, "00-%016llx%016llx-%016llx-%02x", (unsigned long long)trace->id[0],
                      (unsigned long long)trace->id[1], (unsigned long long)trace->span,
                      trace->sampled ? 1U : 0U);
}

bool trace_chosen(const struct trace *trace, int64_t per_million)
{
    return (int64_t)(trace->id[1] % TRACE_ALWAYS) < per_million;
}

static uint64_t derived(struct str what, struct id id)
{
    static const uint8_t known[HASH_SECRET_BYTES] = "pawl trace ids.";
    char text[ID_TEXT + 1];
    id_format(id, text);
    struct str parts[] = { what, { text, ID_TEXT } };
    uint64_t hash = (uint64_t)hash_short(known, parts, countof(parts));
    return hash ? hash : 1;  // defensive: 0 is no id, and one hash in 2^64
}

struct trace trace_of_job(struct str traceparent, struct id job, int64_t per_million)
{
    struct trace trace;
    if (trace_parse(traceparent, &trace))
        return trace;
    trace.id[0] = derived(S("trace"), job);
    trace.id[1] = derived(S("trace, its other half"), job);
    trace.sampled = trace_chosen(&trace, per_million);
    return trace;
}

static struct trace with_span(const struct trace *trace, uint64_t span)
{
    return (struct trace){ { trace->id[0], trace->id[1] }, span, trace->sampled };
}

struct trace trace_enqueueing(const struct trace *made_in, struct id job)
{
    return with_span(made_in, derived(S("enqueue"), job));
}

struct trace trace_claim(const struct trace *made_in, struct id execution)
{
    return with_span(made_in, derived(S("claim"), execution));
}

struct trace trace_execution(const struct trace *made_in, struct id execution)
{
    return with_span(made_in, derived(S("execution"), execution));
}
