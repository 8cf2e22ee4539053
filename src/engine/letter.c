// Closing a letter is one update and one event; replay and fix make a job first. Whether it is open
// is read under the write lock, so of two callers one is refused.
#include "engine/letter.h"

#include <assert.h>

#include "base/json_put.h"
#include "model/redact.h"

static const char *const ends[] = {
    [LETTER_REPLAYED] = "replayed",
    [LETTER_FIXED] = "fixed",
    [LETTER_DISCARDED] = "discarded",
};
_Static_assert(countof(ends) == LETTER_ENDS, "one word per end");

bool letter_open(const struct job *job)
{
    return str_eq(job->dead_letter, S("open"));
}

static bool close(struct tx *tx, const struct job *old, enum letter_end end, struct str detail,
                  struct pawl_error *err)
{
    assert(letter_open(old));
    return sql_run(tx, Q_DEAD_LETTER_CLOSE, err, INT(old->id.high), TEXT(str_of(ends[end])))
        && event_append(tx, job_subject(old), EVENT_JOB_LETTER_CLOSED, detail, err);
}

bool letter_close_by(struct tx *tx, const struct job *old, enum letter_end end,
                     const struct job *made, struct pawl_error *err)
{
    struct str detail = str_format(tx->arena, "{\"as\":\"%s\",\"job_id\":\"%.*s\"}", ends[end],
                                   STR(id_text(tx->arena, made->id)));
    return close(tx, old, end, detail, err);
}

// An open letter: what is none is not found, what was closed is refused.
static bool load_open(struct tx *tx, struct id id, struct job *old, struct pawl_error *err)
{
    if (!job_load(tx, id, old, err))
        return false;
    if (old->dead_letter.n == 0)
        return fail(err, PAWL_NOT_FOUND, "job %.*s is %s and no dead letter",
                    STR(id_text(tx->arena, id)), job_state_name(old->state));
    return letter_open(old)
        || fail(err, PAWL_CLOSED, "dead letter %.*s was %.*s before: a letter is closed once",
                STR(id_text(tx->arena, id)), STR(old->dead_letter));
}

bool letter_replay(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    struct job old;
    return load_open(tx, id, &old, err)
        && job_remake(tx, &old, &(struct remake){ .origin = S("replay") }, job, err)
        && letter_close_by(tx, &old, LETTER_REPLAYED, job, err);
}

static struct str discard_detail(struct tx *tx, struct str reason)
{
    struct buf detail = buf_new(tx->arena, SIZE_MAX);
    json_put_open(&detail, NULL, '{');
    json_put_text(&detail, "as", str_of(ends[LETTER_DISCARDED]));
    json_put_text(&detail, "reason", redact_error(tx->arena, reason, LETTER_REASON_BYTES_MAX));
    json_put_close(&detail, '}');
    return buf_str(&detail);
}

static bool reason_given(struct str reason, struct pawl_error *err)
{
    if (reason.n >= 1 && reason.n <= LETTER_REASON_BYTES_MAX && utf8_valid(reason))
        return true;
    return fail(err, PAWL_INVALID, "reason: must be text of 1 to %d bytes: why nobody needs it",
                LETTER_REASON_BYTES_MAX);
}

bool letter_discard(struct tx *tx, struct id id, struct str reason, struct job *job,
                    struct pawl_error *err)
{
    if (!reason_given(reason, err) || !load_open(tx, id, job, err)
        || !close(tx, job, LETTER_DISCARDED, discard_detail(tx, reason), err))
        return false;
    job->dead_letter = str_of(ends[LETTER_DISCARDED]);
    return true;
}

bool letter_fix(struct tx *tx, struct id id, struct letter_fix *fix, struct job *job,
                struct pawl_error *err)
{
    struct job old;
    if (!load_open(tx, id, &old, err))
        return false;
    struct contract fixed = old.contract;
    if (!contract_put_payload(&fixed, fix->payload, fix->rules, fix->problems))
        return problems_none(fix->problems, err);
    fix->before = old.contract.payload;
    fix->after = fixed.payload;
    struct remake how = { .origin = S("fix"), .payload = fixed.payload };
    return fix->dry_run
        || (job_remake(tx, &old, &how, job, err)
            && letter_close_by(tx, &old, LETTER_FIXED, job, err));
}

// ----- many

static bool close_one(struct tx *tx, const struct letter_sweep *sweep, struct id id,
                      struct id *done, struct pawl_error *err)
{
    struct job job = { .id = id };
    bool closed = sweep->dry_run
               || (sweep->discard ? letter_discard(tx, id, sweep->reason, &job, err)
                                  : letter_replay(tx, id, &job, err));
    *done = job.id;
    return closed;
}

bool letters_close(struct tx *tx, struct letter_sweep *sweep, struct pawl_error *err)
{
    struct letter_filter filter = sweep->filter;
    struct letter_list found;
    if (filter.limit <= 0 || filter.limit > LETTERS_CLOSED_MAX)
        filter.limit = LETTERS_CLOSED_MAX;
    sweep->count = 0;
    if ((sweep->discard && !reason_given(sweep->reason, err))
        || !letters_match(tx, &filter, &found, err))
        return false;
    sweep->more = found.next != 0;
    sweep->ids = arena_new(tx->arena, struct id, found.count + 1);
    if (!sweep->ids)
        return fail(err, PAWL_NO_MEMORY, "no memory for so many letters");
    for (size_t i = 0; i < found.count; i++) {
        struct pawl_error why = {0};
        if (close_one(tx, sweep, found.letters[i].id, &sweep->ids[sweep->count], &why))
            sweep->count++;
        else if (!pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
    }
    return true;
}
