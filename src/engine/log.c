// The number of a line is given when it is stored: one writer at a time, so none is given twice.
#include "engine/log.h"

#include "base/list.h"

static bool is_stored(struct tx *tx, int64_t job, int64_t execution, const struct log_line *line,
                      int64_t *stored, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_LOG_KNOWN, err, INT(job), INT(line->seq), INT(execution),
                   INT(line->at))
        && rows_number(&rows, stored, err);
}

bool log_append(struct tx *tx, struct id execution, struct log_line *lines, size_t count,
                struct pawl_error *err)
{
    int64_t job, org, seq, stored = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_LOG_PLACE, err, INT(execution.high), INT(execution.low)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err)
            && fail(err, PAWL_NOT_FOUND, "there is no execution %.*s",
                    STR(id_text(tx->arena, execution)));
    job = row_int(&rows);
    org = row_int(&rows);
    seq = row_int(&rows);
    rows_end(&rows);
    if (count > 0 && lines[0].seq && !is_stored(tx, job, execution.high, &lines[0], &stored, err))
        return false;
    for (size_t i = 0; i < count && !stored; i++) {
        lines[i].seq = ++seq;
        if (!sql_run(tx, Q_LOG_INSERT, err, INT(job), INT(seq), INT(org), INT(execution.high),
                     INT(lines[i].at), TEXT(lines[i].text)))
            return false;
    }
    return true;
}

bool logs_of_job(struct tx *tx, int64_t job, struct log_page *page, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct log_line));
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_LOGS_OF_JOB, err, INT(job), INT(page->after), INT(page->limit)))
        return false;
    while (rows_next(&rows)) {
        struct log_line *line = list_add(&list);
        if (!line)
            return fail(err, PAWL_NO_MEMORY, "no memory for the log of a job");
        line->seq = row_int(&rows);
        line->execution.high = row_int(&rows);
        line->execution.low = row_int(&rows);
        line->attempt = row_int(&rows);
        line->at = row_int(&rows);
        line->text = row_text(&rows);
    }
    page->lines = list.items;
    page->count = list.count;
    return rows_ok(&rows, err);
}
