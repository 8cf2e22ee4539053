// Causes: why a job is where it is, or ended as it did, each with its sentence and its advice.
//
// One row of a table per cause: the word for programs, the sentence for people, what to do next.
// Sentence and advice have holes such as `{until}`, which facts fill. Which cause is the true one
// the engine decides: see engine/explain.h.
#pragma once

#include "base/arena.h"
#include "base/text.h"

enum cause {
    CAUSE_DAMAGED,             // the records contradict each other
    // it waits
    CAUSE_HELD,
    CAUSE_DELAYED,
    CAUSE_DUE,
    CAUSE_CLOCK_STOPPED,
    CAUSE_BACKOFF,
    CAUSE_BLOCKED_BY_RUNNING,
    CAUSE_BLOCKED_BY_READY,
    CAUSE_BLOCKED_UNSEEN,
    CAUSE_BEHIND_IN_KEY,
    CAUSE_WAITS_FOR_JOB,
    CAUSE_WAITS_FOR_JOBS,
    CAUSE_WAITS_UNSEEN,
    CAUSE_WAITS_THEN,
    CAUSE_DOOMED,
    CAUSE_QUEUE_PAUSED,
    CAUSE_SHARE_PAUSED,
    CAUSE_TYPE_PAUSED,
    CAUSE_LIMIT_RUNNING,
    CAUSE_LIMIT_RATE,
    CAUSE_LIMIT_KEY_NEXT,
    CAUSE_NOBODY_ALIVE,
    CAUSE_NO_WORKER,
    CAUSE_BEHIND_PRIORITY,
    CAUSE_BEHIND_OLDER,
    CAUSE_NEXT,
    CAUSE_CRITICAL_FIRST,
    CAUSE_TURNS,
    CAUSE_SHARES,
    CAUSE_QUEUE_FULL,
    CAUSE_MAX_WAIT_ENDS,
    CAUSE_MAX_WAIT_OVER,
    // somebody has it
    CAUSE_LEASED,
    CAUSE_RUNNING,
    CAUSE_CANCEL_REQUESTED,
    CAUSE_LEASE_OVER,
    CAUSE_DEADLINE_OVER,
    CAUSE_FINISHING,
    CAUSE_FINISH_BACKOFF,
    CAUSE_FINISH_DUE,
    CAUSE_FINISH_LEASE_OVER,
    // it ended
    CAUSE_SUCCEEDED,
    CAUSE_HANDLER_ERROR,
    CAUSE_ATTEMPTS_EXHAUSTED,
    CAUSE_TIMED_OUT,
    CAUSE_CANCELLED_WAITING,
    CAUSE_CANCELLED_RUNNING,
    CAUSE_CANCELLED_BY_WORKER,
    CAUSE_LEASE_EXPIRED,
    CAUSE_PROCESS_TERMINATED,
    CAUSE_KILLED_WORKERS,
    CAUSE_WAITED_TOO_LONG,
    CAUSE_PURGED,
    CAUSE_SLOT_STALE,
    CAUSE_INPUT_GONE,
    CAUSE_INVALID,
    CAUSE_RESOURCE_EXHAUSTED,
    CAUSE_DEPENDENCY_FAILED,
    // and this is known of it
    CAUSE_DEAD_LETTER_OPEN,
    CAUSE_DEAD_LETTER_CLOSED,
    CAUSE_RETRIED_AS,
    CAUSE_MADE_BY_SCHEDULE,
    CAUSE_MADE_FROM,
    CAUSES
};

const char *cause_name(enum cause cause);

// What fills the holes. Those of a cause must be there; the others are not looked at.
enum cause_fact {
    FACT_ID,
    FACT_TYPE,
    FACT_QUEUE,
    FACT_SINCE,
    FACT_UNTIL,
    FACT_BY,
    FACT_WORKER,
    FACT_PROGRESS,
    FACT_ATTEMPTS,
    FACT_FAILURES,
    FACT_ERROR,
    FACT_KEY,
    FACT_RELATED,
    FACT_STATE,
    FACT_COUNT,
    FACT_BUSY,
    FACT_SCHEDULE,
    FACT_SLOT,
    FACT_WORD,
    CAUSE_FACTS
};

struct cause_facts {
    struct str at[CAUSE_FACTS];
};

struct str cause_sentence(struct arena *arena, enum cause cause, const struct cause_facts *facts);
// Empty: there is nothing to do about it.
struct str cause_advice(struct arena *arena, enum cause cause, const struct cause_facts *facts);
