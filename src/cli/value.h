// Values as people type them: times, durations, numbers, ids.
#pragma once

#include "cli/command.h"
#include "model/state.h"

bool value_is_time(struct str text);
bool value_is_moment(struct str text);    // a time of its own, not one from now
bool value_is_slot(struct str text);      // such a time, or `now`
bool value_is_from_now(struct str text);  // a time like `+5m`
bool value_is_duration(struct str text);  // more than nothing
bool value_is_priority(struct str text);
bool value_is_limit(struct str text);
bool value_is_limit_rate(struct str text);  // 10/m, or `none`
bool value_is_state(struct str text);
bool value_is_number(struct str text);
bool value_is_rate(struct str text);      // of closing dead letters: `100/s`
bool value_is_mode(struct str text);      // of pawl bench
bool value_is_part(struct str text);      // of pawl serve
bool value_is_role(struct str text);
bool value_is_id(struct str text);        // of a job or a batch
bool value_is_hash(struct str text);      // of a seal

// The value of an option that was given and so is well-formed.
int64_t value_number(const struct cli *cli, enum option option);
int64_t value_rate(const struct cli *cli, enum option option);  // a second
// A duration counts from `now`.
pawl_time value_time(const struct cli *cli, enum option option, pawl_time now);

// The slot of --slot: now is the second that goes on.
pawl_time value_slot(const struct cli *cli);

// The first word as the id of a job. PAWL_USAGE when it is no id at all, PAWL_NOT_FOUND when it is
// a UUID that no job can have.
CHECKED bool value_job_id(const struct cli *cli, struct id *id, struct pawl_error *err);
// The same for any text.
CHECKED bool value_id(const struct cli *cli, struct str text, struct id *id,
                      struct pawl_error *err);
