// Ids are hexadecimal, 64-bit numbers are texts: as the specification has it for JSON.
#include "server/span_json.h"

static struct str hex(struct buf *out, uint64_t number)
{
    return str_format(out->arena, "%016llx", (unsigned long long)number);
}

static struct str trace_id(struct buf *out, const struct trace *trace)
{
    return str_format(out->arena, "%016llx%016llx", (unsigned long long)trace->id[0],
                      (unsigned long long)trace->id[1]);
}

static struct str nanoseconds(struct buf *out, pawl_time time)
{
    return str_format(out->arena, "%lld000", (long long)time);
}

static void put_attribute(struct buf *out, const struct span_attribute *attribute)
{
    json_put_open(out, NULL, '{');
    json_put_text(out, "key", str_of(attribute->key));
    json_put_open(out, "value", '{');
    if (attribute->text.n)
        json_put_text(out, "stringValue", attribute->text);
    else
        json_put_text(out, "intValue",
                      str_format(out->arena, "%lld", (long long)attribute->number));
    json_put_close(out, '}');
    json_put_close(out, '}');
}

static void put_link(struct buf *out, const struct trace *to)
{
    json_put_open(out, "links", '[');
    json_put_open(out, NULL, '{');
    json_put_text(out, "traceId", trace_id(out, to));
    json_put_text(out, "spanId", hex(out, to->span));
    json_put_close(out, '}');
    json_put_close(out, ']');
}

static void put_status(struct buf *out, const struct span *span)
{
    enum { STATUS_ERROR = 2 };
    json_put_open(out, "status", '{');
    if (span->failed)
        json_put_int(out, "code", STATUS_ERROR);
    if (span->failed && span->why.n)
        json_put_text(out, "message", span->why);
    json_put_close(out, '}');
}

void span_put(struct buf *out, const struct span *span)
{
    json_put_open(out, NULL, '{');
    json_put_text(out, "traceId", trace_id(out, &span->trace));
    json_put_text(out, "spanId", hex(out, span->trace.span));
    if (span->parent)
        json_put_text(out, "parentSpanId", hex(out, span->parent));
    json_put_text(out, "name", span->name);
    json_put_int(out, "kind", span->kind);
    json_put_text(out, "startTimeUnixNano", nanoseconds(out, span->begun));
    json_put_text(out, "endTimeUnixNano", nanoseconds(out, span->ended));
    json_put_open(out, "attributes", '[');
    for (size_t i = 0; i < SPAN_ATTRIBUTES_MAX && span->attributes[i].key; i++)
        put_attribute(out, &span->attributes[i]);
    json_put_close(out, ']');
    if (span->link.span)
        put_link(out, &span->link);
    put_status(out, span);
    json_put_close(out, '}');
}

void spans_open(struct buf *out, struct str service_name, struct str instance)
{
    const struct span_attribute resource[] = {
        { .key = "service.name", .text = service_name },
        { .key = "service.instance.id", .text = instance },
        { .key = "service.version", .text = S(PAWL_VERSION) },
    };
    json_put_open(out, NULL, '{');
    json_put_open(out, "resourceSpans", '[');
    json_put_open(out, NULL, '{');
    json_put_open(out, "resource", '{');
    json_put_open(out, "attributes", '[');
    for (size_t i = 0; i < countof(resource); i++)
        put_attribute(out, &resource[i]);
    json_put_close(out, ']');
    json_put_close(out, '}');
    json_put_open(out, "scopeSpans", '[');
    json_put_open(out, NULL, '{');
    json_put_open(out, "scope", '{');
    json_put_text(out, "name", S("pawl"));
    json_put_close(out, '}');
    json_put_open(out, "spans", '[');
}

void spans_close(struct buf *out)
{
    static const char brackets[] = "]}]}]}";
    for (size_t i = 0; i < sizeof brackets - 1; i++)
        json_put_close(out, brackets[i]);
}
