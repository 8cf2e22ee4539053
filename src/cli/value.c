// One predicate per kind of value for the table of options, and the readers behind them.
#include "cli/value.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/time_text.h"
#include "model/limit.h"
#include "model/role.h"

enum { LIMIT_MAX = 10000 };

// `+5m` and `5m` are from now.
static bool from_now(struct str text, int64_t *microseconds)
{
    *microseconds = 0;
    if (str_eq(text, S("now")))
        return true;
    if (str_starts(text, S("+")))
        text = (struct str){ text.s + 1, text.n - 1 };
    return duration_parse(text, microseconds);
}

bool value_is_time(struct str text)
{
    int64_t ignored;
    return time_parse(text, &ignored) || from_now(text, &ignored);
}

bool value_is_moment(struct str text)
{
    int64_t ignored;
    return time_parse(text, &ignored);
}

bool value_is_slot(struct str text)
{
    return str_eq(text, S("now")) || value_is_moment(text);
}

bool value_is_from_now(struct str text)
{
    int64_t ignored;
    return from_now(text, &ignored);
}

bool value_is_duration(struct str text)
{
    int64_t microseconds;
    return duration_parse(text, &microseconds) && microseconds > 0;
}

bool value_is_priority(struct str text)
{
    int64_t number;
    return str_int(text, &number) && number >= PRIORITY_MIN && number <= PRIORITY_MAX;
}

bool value_is_limit_rate(struct str text)
{
    struct rate rate;
    return str_eq(text, S("none")) || rate_parse(text, &rate);
}

bool value_is_limit(struct str text)
{
    int64_t number;
    return str_int(text, &number) && number >= 1 && number <= LIMIT_MAX;
}

bool value_is_state(struct str text)
{
    enum job_state ignored;
    return job_state_parse(text, &ignored);
}

bool value_is_number(struct str text)
{
    int64_t ignored;
    return str_int(text, &ignored);
}

static bool rate_read(struct str text, int64_t *per_second)
{
    struct str number, unit;
    return str_cut(text, '/', &number, &unit) && str_eq(unit, S("s"))
        && str_int(number, per_second) && *per_second >= 1 && *per_second <= 500;
}

bool value_is_rate(struct str text)
{
    int64_t ignored;
    return rate_read(text, &ignored);
}

int64_t value_rate(const struct cli *cli, enum option option)
{
    int64_t per_second = 0;
    (void)rate_read(cli->value[option], &per_second);  // it was judged before
    return per_second;
}

bool value_is_part(struct str text)
{
    return str_eq(text, S("api")) || str_eq(text, S("worker"));
}

bool value_is_mode(struct str text)
{
    return str_eq(text, S("embedded")) || str_eq(text, S("http"));
}

bool value_is_id(struct str text)
{
    struct id id;
    return id_parse(text, &id);
}

bool value_is_hash(struct str text)
{
    return text.n == HASH_DIGITS && strspn(text.s, "0123456789abcdef") >= HASH_DIGITS;
}

bool value_is_role(struct str text)
{
    enum role ignored;
    return role_parse(text, &ignored);
}

int64_t value_number(const struct cli *cli, enum option option)
{
    int64_t number = 0;
    bool fits = str_int(cli->value[option], &number);
    assert(fits);
    return number;
}

pawl_time value_time(const struct cli *cli, enum option option, pawl_time now)
{
    int64_t time = 0;
    if (time_parse(cli->value[option], &time))
        return time;
    bool fits = from_now(cli->value[option], &time);
    assert(fits);
    return now + time;
}

pawl_time value_slot(const struct cli *cli)
{
    pawl_time now = world_wall(cli->world);
    return str_eq(cli->value[OPTION_SLOT], S("now")) ? now - now % SECONDS(1)
                                                     : value_time(cli, OPTION_SLOT, now);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool looks_like_uuid(struct str text)
{
    size_t digits = 0;
    for (size_t i = 0; i < text.n; i++)
        digits += is_hex(text.s[i]);
    return text.n == ID_TEXT && digits == 32;
}

bool value_id(const struct cli *cli, struct str text, struct id *id, struct pawl_error *err)
{
    if (id_parse(text, id))
        return true;
    if (looks_like_uuid(text))
        return fail(err, PAWL_NOT_FOUND, "there is no job %.*s", STR(text));
    return usage(cli, err, "`%.*s` is no job id: a job id is a full UUID", STR(text));
}

bool value_job_id(const struct cli *cli, struct id *id, struct pawl_error *err)
{
    return value_id(cli, cli->words[0], id, err);
}
