// One line per set of words; a set that has no table below is written here.
#include "server/words.h"

#include "engine/event.h"
#include "model/category.h"
#include "model/cause.h"
#include "model/limit.h"
#include "model/role.h"
#include "server/schedule_json.h"
#include "store/counts.h"

#define WORDS_OF(what, type, name, first, limit)                             \
    const char *words_##what(unsigned number)                                \
    {                                                                        \
        return number + (first) < (limit) ? name((enum type)(number + (first))) : NULL; \
    }

WORDS_OF(job_state, job_state, job_state_name, 0, JOB_STATES)
WORDS_OF(coarse_state, job_state, job_coarse_state_name, 0, JOB_STATES)
WORDS_OF(job_phase, job_phase, job_phase_name, 0, JOB_PHASES)
WORDS_OF(execution_status, execution_status, execution_status_name, 0, EXECUTION_STATUSES)
WORDS_OF(error_class, error_class, error_class_name, 1, ERROR_CLASSES)
WORDS_OF(said_class, error_class, error_class_name, 1, ERROR_CRASH)
WORDS_OF(end_reason, end_reason, end_reason_name, 1, END_REASONS)
WORDS_OF(failure_type, failure_type, failure_type_name, 1, FAILURE_TYPES)
WORDS_OF(actor_type, actor_type, actor_type_name, 0, ACTOR_TYPES)
WORDS_OF(role, role, role_name, 0, ROLES)
WORDS_OF(event, event, event_name, 1, EVENTS)
WORDS_OF(queue_place, queue_place, queue_place_name, 0, PLACES)
WORDS_OF(limit_scope, limit_scope, limit_scope_name, 0, LIMIT_SCOPES)
WORDS_OF(rate_limited, rate_limited, rate_limited_name, 0, RATE_LIMITED_WAYS)
WORDS_OF(cause, cause, cause_name, 0, CAUSES)
WORDS_OF(schedule_source, schedule_source, schedule_source_name, 0, SCHEDULE_SOURCES)
WORDS_OF(run_status, run_status, run_status_name, 0, RUN_STATUSES)
WORDS_OF(skip_reason, skip_reason, skip_reason_name, 0, SKIP_REASONS)
WORDS_OF(clock_change, slot_shift, clock_change_name, 1, SLOT_FIRST_OF_TWO + 1)
_Static_assert(ERROR_CRASH == ERROR_CLASSES - 1, "what no worker says is last");

const char *words_category(unsigned number)
{
    return number < CATEGORIES ? category_row((enum category)number)->name : NULL;
}

#define WORDS(what, ...)                                                  \
    const char *words_##what(unsigned number)                             \
    {                                                                     \
        static const char *const all[] = { __VA_ARGS__ };                 \
        return number < countof(all) ? all[number] : NULL;                \
    }

WORDS(error_type, "RETRYABLE", "TERMINAL")
WORDS(origin, "retry", "replay", "fix", "follow_up")
WORDS(dead_letter, "open", "replayed", "fixed", "discarded")
WORDS(lease_phase, "work", "finish")
