// Written field by field, each with a maximum of its own, so that no line is too long.
#include "server/log_line.h"

#include <assert.h>

#include "base/time_text.h"
#include "model/redact.h"

// Of a value as it is written, escapes included.
enum { MESSAGE_BYTES_MAX = 3072,
       ID_BYTES_MAX = 300,
       FIELD_BYTES_MAX = 256,
       KEY_BYTES = 32,
       REST_BYTES = 256,
       ESCAPE_BYTES_MAX = 6 };
_Static_assert(MESSAGE_BYTES_MAX + 6 * (ID_BYTES_MAX + KEY_BYTES)
                       + LOG_FIELDS_MAX * (FIELD_BYTES_MAX + KEY_BYTES) + REST_BYTES
                   <= LOG_ENTRY_BYTES_MAX,
               "everything at its longest is a line");

static const char *const levels[] = {
    [LOG_LEVEL_DEBUG] = "debug",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_WARNING] = "warning",
};

// The first character of the text as JSON writes it, and how many bytes of the text it was.
static struct str escape(struct str text, char space[ESCAPE_BYTES_MAX + 1], size_t *bytes)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)text.s[0];
    *bytes = utf8_step(text);
    if (*bytes == 0) {
        *bytes = 1;
        return S("\xef\xbf\xbd");  // U+FFFD: this was no character
    }
    if (c == '"' || c == '\\') {
        space[0] = '\\';
        space[1] = (char)c;
        return (struct str){ space, 2 };
    }
    if (c >= 0x20 && c != 0x7f)
        return (struct str){ text.s, *bytes };
    for (size_t i = 0; i < 4; i++)
        space[i] = "\\u00"[i];
    space[4] = hex[c >> 4];
    space[5] = hex[c & 15];
    return (struct str){ space, 6 };
}

// In quotation marks, and at most so long with them.
static void add_quoted(struct buf *line, struct str text, size_t bytes_max)
{
    const struct str more = S("…");
    size_t left = bytes_max - 2 - more.n;
    buf_add_char(line, '"');
    while (text.n > 0) {
        char space[ESCAPE_BYTES_MAX + 1];
        size_t bytes;
        struct str written = escape(text, space, &bytes);
        if (written.n > left) {
            buf_add(line, more);
            break;
        }
        buf_add(line, written);
        left -= written.n;
        text = (struct str){ text.s + bytes, text.n - bytes };
    }
    buf_add_char(line, '"');
}

// Of a long text only what may be shown, and as much again, is searched for secrets: one that
// begins where it is shown is seen as such.
static void add_text(struct buf *line, const char *name, struct str text, size_t bytes_max)
{
    struct str part = { text.s, text.n < 2 * bytes_max ? text.n : 2 * bytes_max };
    buf_addf(line, ",\"%s\":", name);
    add_quoted(line, redact(line->arena, part), bytes_max);
}

// Absent when empty; null in a line about a job.
static void add_id(struct buf *line, const char *name, struct str id, bool of_job)
{
    if (id.n)
        add_text(line, name, id, ID_BYTES_MAX);
    else if (of_job)
        buf_addf(line, ",\"%s\":null", name);
}

static void add_about(struct buf *line, const struct log_entry *entry)
{
    bool of_job = entry->about.job_id.n > 0;
    add_id(line, "request_id", entry->about.request_id, of_job);
    add_id(line, "correlation_id", entry->about.correlation_id, of_job);
    add_id(line, "job_id", entry->about.job_id, of_job);
    add_id(line, "job_type", entry->about.job_type, of_job);
    add_id(line, "org_id", entry->about.org_id, of_job);
    add_id(line, "project_id", entry->about.project_id, of_job);
    if (of_job)
        buf_addf(line, ",\"attempt\":%lld", (long long)entry->about.attempt);
}

struct str log_line(struct arena *arena, const struct log_entry *entry, pawl_time at)
{
    struct buf line = buf_new(arena, LOG_ENTRY_BYTES_MAX);
    buf_addf(&line, "{\"at\":\"%.*s\",\"level\":\"%s\",\"event\":\"%s\"",
             STR(time_text(arena, at)), levels[entry->level], entry->event);
    if (entry->message.n)
        add_text(&line, "message", entry->message, MESSAGE_BYTES_MAX);
    add_about(&line, entry);
    for (size_t i = 0; i < LOG_FIELDS_MAX && entry->fields[i].name; i++) {
        const struct log_field *field = &entry->fields[i];
        if (field->is_number)
            buf_addf(&line, ",\"%s\":%lld", field->name, (long long)field->number);
        else
            add_text(&line, field->name, field->text, FIELD_BYTES_MAX);
    }
    buf_add(&line, S("}\n"));
    assert(!line.full || arena->failed);
    return line.full || arena->failed ? S("") : buf_str(&line);
}
