// Where traces go.
#include "server/config_read.h"

#include "model/trace.h"
#include "server/outbound.h"

static void read_endpoint(const struct reading *r, const struct config_row *row,
                          const struct yaml_node *node, void *to)
{
    (void)row;
    struct str host = S("");
    if (!node_is_text(r, node, "a URL"))
        return;
    const char *problem = outbound_url_problem(r->arena, node->text, &host);
    if (problem)
        wrong(r, node, "must be %s", problem);
    else
        *(struct str *)to = node->text;
}

// A share as digits, a millionth exact: 0, 0.25, 1.0.
static bool share_read(struct str text, int64_t *per_million)
{
    struct str whole, rest;
    int64_t millionths = 0, step = TRACE_ALWAYS;
    bool dot = str_cut(text, '.', &whole, &rest);
    if ((!str_eq(whole, S("0")) && !str_eq(whole, S("1"))) || (dot && rest.n == 0))
        return false;
    for (size_t i = 0; i < rest.n; i++, step /= 10) {
        if (rest.s[i] < '0' || rest.s[i] > '9' || step == 1)
            return false;
        millionths += (rest.s[i] - '0') * (step / 10);
    }
    *per_million = millionths + (str_eq(whole, S("1")) ? TRACE_ALWAYS : 0);
    return *per_million <= TRACE_ALWAYS;
}

static void read_share(const struct reading *r, const struct config_row *row,
                       const struct yaml_node *node, void *to)
{
    (void)row;
    const char *want = "a number from 0 to 1, such as 0.25";
    if (node_is_text(r, node, want) && !share_read(node->text, to))
        wrong(r, node, "must be %s", want);
}

static json_t *show_share(struct arena *arena, const struct config_row *row, const void *from)
{
    (void)arena, (void)row;
    return json_real((double)*(const int64_t *)from / TRACE_ALWAYS);
}

static const struct config_kind kind_endpoint = { "URL", read_endpoint, NULL, NULL };
static const struct config_kind kind_share = { "number from 0 to 1", read_share, show_share, NULL };

// clang-format off
static const struct config_row rows[] = {
    { "endpoint", &kind_endpoint, MEMBER(config_tracing, endpoint), NULL,
      "a collector that speaks OTLP over HTTP, such as `http://127.0.0.1:4318`; without one there "
      "are no traces" },
    { "sample", &kind_share, MEMBER(config_tracing, per_million), "1.0",
      "the share of traces that begin here and are kept; of others their caller decides" },
    { "service_name", &kind_name, MEMBER(config_tracing, service_name), "pawl",
      "what the server is called in traces" },
    { "headers_file", &kind_headers, MEMBER(config_tracing, headers), NULL,
      "sent to the collector, one `Name: value` per line" },
    { "timeout", &kind_duration, MEMBER(config_tracing, timeout_us), "5s", "of one message",
      MILLISECONDS(100), MINUTES(1) },
};
// clang-format on
const struct config_table tracing_table = TABLE("tracing", rows);
