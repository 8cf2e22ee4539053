// Pure: numbers in, text out.
#include "server/exposition.h"

#include <math.h>

static const char *const kinds[] = {
    [METRIC_COUNTER] = "counter",
    [METRIC_GAUGE] = "gauge",
    [METRIC_HISTOGRAM] = "histogram",
};

size_t metric_label_count(const struct metric *metric)
{
    size_t count = 0;
    while (count < LABELS_MAX && metric->labels[count])
        count++;
    return count;
}

// Counts as whole numbers, whatever their size; the rest as short as it reads back near enough.
static void add_number(struct buf *buf, double number)
{
    if (number == floor(number) && fabs(number) < 9e15)
        buf_addf(buf, "%.0f\n", number);
    else
        buf_addf(buf, "%.15g\n", number);
}

static void add_value(struct buf *buf, struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.s[i];
        if (c == '\n')
            buf_add(buf, S("\\n"));
        else if (c == '\\' || c == '"')
            buf_addf(buf, "\\%c", c);
        else
            buf_add_char(buf, c);
    }
}

// `{job_type="a",queue="b",le="5"}`; nothing when there is no label.
static void add_labels(struct buf *buf, const struct metric *metric, const struct series *series,
                       const char *le)
{
    char mark = '{';
    for (size_t k = 0; k < metric_label_count(metric); k++, mark = ',') {
        buf_addf(buf, "%c%s=\"", mark, metric->labels[k]);
        add_value(buf, series->labels[k]);
        buf_add_char(buf, '"');
    }
    if (le) {
        buf_addf(buf, "%cle=\"%s\"", mark, le);
        mark = ',';
    }
    if (mark == ',')
        buf_add(buf, S("} "));
    else
        buf_add_char(buf, ' ');
}

static void add_sample(struct buf *buf, const struct metric *metric, const struct series *series,
                       const char *suffix, double number)
{
    buf_addf(buf, "%s%s", metric->name, suffix);
    add_labels(buf, metric, series, NULL);
    add_number(buf, number);
}

static void add_bucket(struct buf *buf, const struct metric *metric, const struct series *series,
                       const char *le, int64_t count)
{
    buf_addf(buf, "%s_bucket", metric->name);
    add_labels(buf, metric, series, le);
    buf_addf(buf, "%lld\n", (long long)count);
}

// Buckets are told as "so many up to here".
static void add_histogram(struct buf *buf, const struct metric *metric,
                          const struct series *series)
{
    int64_t so_far = 0;
    for (size_t i = 0; i < metric->bound_count; i++) {
        const char *le = str_format(buf->arena, "%g", metric->bounds[i]).s;
        so_far += series->buckets[i];
        add_bucket(buf, metric, series, le, so_far);
    }
    add_bucket(buf, metric, series, "+Inf", series->count);
    add_sample(buf, metric, series, "_sum", series->value);
    add_sample(buf, metric, series, "_count", (double)series->count);
}

void exposition_add(struct buf *buf, const struct metric *metric, const struct series *series,
                    size_t count)
{
    static const struct series none;
    if (count == 0 && metric_label_count(metric) == 0) {
        series = &none;
        count = 1;
    }
    buf_addf(buf, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
             kinds[metric->kind]);
    for (size_t i = 0; i < count; i++) {
        if (metric->kind == METRIC_HISTOGRAM)
            add_histogram(buf, metric, &series[i]);
        else
            add_sample(buf, metric, &series[i], "", series[i].value);
    }
}
