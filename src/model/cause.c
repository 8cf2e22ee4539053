// The table of causes, and filling in the holes of its texts.
#include "model/cause.h"

#include <assert.h>

enum { CAUSE_TEXT_BYTES_MAX = 16384 };

// clang-format off
static const struct {
    const char *name, *sentence, *advice;
} causes[] = {
    [CAUSE_DAMAGED] = { "damaged",
        "Its records contradict each other: {error}. Claims and sweeps pass it over.",
        "Run `pawl verify` on the store, and keep a copy of it before anything is repaired." },

    [CAUSE_HELD] = { "held",
        "It was created and has not been submitted.",
        "Submit it: pawl submit {id}" },
    [CAUSE_DELAYED] = { "delayed",
        "Its time has not come: it is due at {until}.",
        "To run it earlier: pawl change {id} --at TIME" },
    [CAUSE_DUE] = { "due",
        "It is due since {since}: the next sweep puts it into its queue.",
        "Nothing, unless it stays like this: then look at the log of the server." },
    [CAUSE_CLOCK_STOPPED] = { "clock_stopped",
        "A time has come, and no Pawl process is alive on this store that would notice.",
        "Start one: pawl serve" },
    [CAUSE_BACKOFF] = { "backoff",
        "Attempt {attempts} failed: {error}. It is tried again at {until}.",
        "To try earlier: pawl change {id} --at TIME. If it cannot succeed: pawl cancel {id}" },
    [CAUSE_BLOCKED_BY_RUNNING] = { "blocked_by_running",
        "Of serial key {key} one job runs at a time, and job {related} has the turn: it is "
        "{state} since {since}.",
        "Look at that job: pawl explain {related}" },
    [CAUSE_BLOCKED_BY_READY] = { "blocked_by_ready",
        "Of serial key {key} one job runs at a time, and job {related} is older: it is {state} "
        "since {since} and goes first.",
        "Look at that job: pawl explain {related}" },
    [CAUSE_BLOCKED_UNSEEN] = { "blocked_unseen",
        "Of serial key {key} one job runs at a time, and a job of another project has the turn.",
        "Ask somebody whose key may see all projects of the org." },
    [CAUSE_BEHIND_IN_KEY] = { "behind_in_key",
        "It is behind {count} of serial key {key} that came earlier.",
        "To let it run beside them it needs another serial key." },
    [CAUSE_WAITS_FOR_JOB] = { "waits_for_job",
        "It runs after job {related}, which must succeed first: that one is {state} since {since}.",
        "Look at that job: pawl explain {related}" },
    [CAUSE_WAITS_FOR_JOBS] = { "waits_for_jobs",
        "It runs after {count} that must succeed first. The oldest of them is job {related}, which "
        "is {state} since {since}; they are: {word}.",
        "Look at that job: pawl explain {related}" },
    [CAUSE_WAITS_UNSEEN] = { "waits_unseen",
        "It runs after {count} that must succeed first; the oldest is of another project.",
        "Ask somebody whose key may see all projects of the org." },
    [CAUSE_WAITS_THEN] = { "waits_then",
        "Besides, {count} must have succeeded before it runs.",
        "" },
    [CAUSE_DOOMED] = { "doomed",
        "It fails as soon as it is submitted: {error}.",
        "Cancel it, and make one that waits for another job: pawl cancel {id}" },
    [CAUSE_QUEUE_PAUSED] = { "queue_paused",
        "Queue {queue} is paused as a whole since {since}{by}: nothing of it is taken.",
        "Whoever runs Pawl can resume it: pawl queue resume {queue}" },
    [CAUSE_SHARE_PAUSED] = { "share_paused",
        "The org's share of queue {queue} is paused since {since}{by}: none of its jobs is taken.",
        "Resume it: POST /v1/queues/{queue}/resume, or pawl queue resume {queue} --org ORG" },
    [CAUSE_TYPE_PAUSED] = { "type_paused",
        "Type {type} is paused{by} since {since} until {until}, because a job of it was told that "
        "it is too much (rate_limited).",
        "It goes on by itself; to go on at once: pawl limits resume {type}" },
    [CAUSE_LIMIT_RUNNING] = { "limit_running",
        "Of {word} {count} jobs run that may run at once{by}: the next begins when one of them "
        "ends.",
        "See what runs: pawl jobs --state RUNNING. Limits are shown by pawl limits" },
    [CAUSE_LIMIT_RATE] = { "limit_rate",
        "The rate of {word}, {count}, is used up: the next job begins at {until}.",
        "Nothing, unless the limit is too small: pawl limits shows it" },
    [CAUSE_LIMIT_KEY_NEXT] = { "limit_key_next",
        "It waited for {word}, which has room again: the next claim lets it through.",
        "" },
    [CAUSE_NOBODY_ALIVE] = { "nobody_alive",
        "No Pawl process is alive on this store: nobody takes jobs.",
        "Start one: pawl serve" },
    [CAUSE_NO_WORKER] = { "no_worker",
        "It could be taken since {since}, but nobody works on jobs of type {type} from queue "
        "{queue} or took one in the last minute: no worker that is alive takes them, or all are "
        "busy with others.",
        "Give the type a command in pawl.yaml (job_types: {type}: run:), or start a worker that "
        "leases it from {queue}." },
    [CAUSE_BEHIND_PRIORITY] = { "behind_priority",
        "It is behind {count} of its type in queue {queue}, some of them of higher priority. "
        "At work on the type: {busy}.",
        "More workers, or let it go first: pawl change {id} --priority N" },
    [CAUSE_BEHIND_OLDER] = { "behind_older",
        "It is behind {count} of its type in queue {queue} that came earlier. At work on the "
        "type: {busy}.",
        "More workers, or let it go first: pawl change {id} --priority N" },
    [CAUSE_NEXT] = { "next",
        "No job of its type that you may see is before it in queue {queue}: a worker that is "
        "free and takes the type takes it. At work on the type: {busy}.",
        "Nothing, unless it stays like this: then more workers." },
    [CAUSE_CRITICAL_FIRST] = { "critical_first",
        "Jobs are ready in q:critical, of which nine go before one of another queue.",
        "Nothing, unless q:critical never empties: then see what fills it with pawl queues." },
    [CAUSE_TURNS] = { "turns",
        "Jobs are ready in {count}, too: workers that serve several take turns by weight, and "
        "that of {queue} is {word}.",
        "Nothing, unless it is served too seldom: then give it a greater weight in pawl.yaml." },
    [CAUSE_SHARES] = { "shares",
        "Other orgs have jobs of type {type} ready in queue {queue}, too: orgs take turns, of "
        "{word} jobs each.",
        "Nothing, unless its org should have more of the queue: pawl org weight ORG N" },
    [CAUSE_QUEUE_FULL] = { "queue_full",
        "Queue {queue} is full: as many jobs wait in it as its depth allows, and new ones are "
        "refused.",
        "More workers, or a greater depth of the queue in pawl.yaml." },
    [CAUSE_MAX_WAIT_ENDS] = { "max_wait_ends",
        "It has a max_wait: if nobody takes it before {until}, it fails.",
        "To give it more time: pawl change {id} --at TIME" },
    [CAUSE_MAX_WAIT_OVER] = { "max_wait_over",
        "Its max_wait was over at {until}: the next sweep ends it, unless somebody takes it first.",
        "" },

    [CAUSE_LEASED] = { "leased",
        "Worker {worker} took it at {since} and has not started it. Its lease ends at {until} "
        "unless it is renewed.",
        "Nothing, unless it stays like this: then the worker takes more than it can do." },
    [CAUSE_RUNNING] = { "running",
        "Worker {worker} works on it since {since}, attempt {attempts}. Progress: {progress}. Its "
        "time is over at {until}.",
        "Nothing. To stop it: pawl cancel {id}" },
    [CAUSE_CANCEL_REQUESTED] = { "cancel_requested",
        "Worker {worker} was asked at {since} to stop and has not answered yet. At {until} its "
        "time is over in any case.",
        "Nothing. A worker learns it with its next heartbeat." },
    [CAUSE_LEASE_OVER] = { "lease_over",
        "Worker {worker} has not been heard of in time: its lease was over at {since}. The next "
        "sweep takes the job from it.",
        "See what became of worker {worker}." },
    [CAUSE_DEADLINE_OVER] = { "deadline_over",
        "Worker {worker} did not end it in time: its deadline was {since}. The next sweep ends "
        "the attempt.",
        "If it needs longer, raise the timeout of type {type}." },
    [CAUSE_FINISHING] = { "finishing",
        "Its effect was committed at {since}; worker {worker} is in the commit phase. Failed "
        "tries so far: {failures}.",
        "Nothing: what is committed is kept whatever happens." },
    [CAUSE_FINISH_BACKOFF] = { "finish_backoff",
        "Its effect was committed at {since}, and the commit phase has failed: {failures} so far. "
        "It is tried again at {until}.",
        "See why in its audit trail: pawl show {id}" },
    [CAUSE_FINISH_DUE] = { "finish_due",
        "Its effect was committed at {since}, and its commit phase waits since {until} for a "
        "worker of type {type}. Failed tries so far: {failures}.",
        "Start a worker that takes type {type} from queue {queue}." },
    [CAUSE_FINISH_LEASE_OVER] = { "finish_lease_over",
        "Its effect was committed, but worker {worker} has not been heard of since: its lease "
        "was over at {since}. The next sweep sees to the rest.",
        "See what became of worker {worker}. What is committed is kept." },

    [CAUSE_SUCCEEDED] = { "succeeded",
        "It succeeded at {since}, with attempt {attempts}.",
        "" },
    [CAUSE_HANDLER_ERROR] = { "handler_error",
        "Attempt {attempts} failed with an error that another attempt would not help: {error}.",
        "Remove the cause, then make a new job of it: pawl retry {id}" },
    [CAUSE_ATTEMPTS_EXHAUSTED] = { "attempts_exhausted",
        "Every attempt failed, {attempts}. The last time: {error}.",
        "Remove the cause, then make a new job of it: pawl retry {id}" },
    [CAUSE_TIMED_OUT] = { "timed_out",
        "Attempt {attempts} took longer than it may: {error}.",
        "Raise the timeout of type {type}, or make the work smaller; then pawl retry {id}" },
    [CAUSE_CANCELLED_WAITING] = { "cancelled_waiting",
        "It was cancelled while it waited: {error}.",
        "If that was a mistake: pawl retry {id}" },
    [CAUSE_CANCELLED_RUNNING] = { "cancelled_running",
        "It was cancelled while it ran: somebody asked at {until}, it stopped at {since}.",
        "If that was a mistake: pawl retry {id}" },
    [CAUSE_CANCELLED_BY_WORKER] = { "cancelled_by_worker",
        "Its worker gave it up as cancelled, and nobody had asked for that: {error}.",
        "See what the worker says; then pawl retry {id}" },
    [CAUSE_LEASE_EXPIRED] = { "lease_expired",
        "Its worker fell silent in attempt {attempts}, and its policy does not try again after "
        "that.",
        "See what became of the worker; if a second run does no harm: pawl retry {id}" },
    [CAUSE_PROCESS_TERMINATED] = { "process_terminated",
        "The process that ran attempt {attempts} died, and its policy does not try again after "
        "that.",
        "See why it died; if a second run does no harm: pawl retry {id}" },
    [CAUSE_KILLED_WORKERS] = { "killed_workers",
        "Its workers vanished several times in a row, the last time in attempt {attempts}: it is "
        "not given to another one.",
        "Find out what it does to them before it runs again: pawl retry {id}" },
    [CAUSE_WAITED_TOO_LONG] = { "waited_too_long",
        "Nobody took it within its max_wait.",
        "See whether workers of type {type} keep up: pawl queues. Then pawl retry {id}" },
    [CAUSE_PURGED] = { "purged",
        "Its queue was purged while it waited.",
        "If it is needed after all: pawl retry {id}" },
    [CAUSE_SLOT_STALE] = { "slot_stale",
        "Nobody began it in time: its slot went stale at {since}.",
        "See whether workers of type {type} keep up, and the schedule's expected_max_runtime." },
    [CAUSE_INPUT_GONE] = { "input_gone",
        "What it was to work on is not there any more: {error}.",
        "Upload it again with pawl artifact put, and enqueue a job that names the new one" },
    [CAUSE_INVALID] = { "invalid",
        "It was enqueued in SQL and breaks the contract: {error}.",
        "Mend the caller of pawl.enqueue; pawl dead fix {id} --payload JSON makes a sound job" },
    [CAUSE_RESOURCE_EXHAUSTED] = { "resource_exhausted",
        "There was no room for it: {error}.",
        "Make a new job of it when there is: pawl retry {id}" },
    [CAUSE_DEPENDENCY_FAILED] = { "dependency_failed",
        "A job it depends on did not succeed: {error}.",
        "See to that job first; then pawl retry {id}" },

    [CAUSE_DEAD_LETTER_OPEN] = { "dead_letter_open",
        "It is a dead letter that nobody has seen to yet.",
        "Remove the cause, then pawl dead replay {id}; pawl dead fix and discard are other ways" },
    [CAUSE_DEAD_LETTER_CLOSED] = { "dead_letter_closed",
        "It was a dead letter, and is {word}.",
        "" },
    [CAUSE_RETRIED_AS] = { "retried_as",
        "It lives on as job {related} ({word}).",
        "Look at that one: pawl explain {related}" },
    [CAUSE_MADE_BY_SCHEDULE] = { "made_by_schedule",
        "Schedule {schedule} made it for its slot at {slot}.",
        "" },
    [CAUSE_MADE_FROM] = { "made_from",
        "It was made from job {related} ({word}).",
        "" },
};
// clang-format on
_Static_assert(countof(causes) == CAUSES, "one row per cause");

static const char *const holes[] = {
    [FACT_ID] = "id", [FACT_TYPE] = "type", [FACT_QUEUE] = "queue", [FACT_SINCE] = "since",
    [FACT_UNTIL] = "until", [FACT_BY] = "by", [FACT_WORKER] = "worker",
    [FACT_PROGRESS] = "progress", [FACT_ATTEMPTS] = "attempts", [FACT_FAILURES] = "failures",
    [FACT_ERROR] = "error", [FACT_KEY] = "key", [FACT_RELATED] = "related",
    [FACT_STATE] = "state", [FACT_COUNT] = "count", [FACT_BUSY] = "busy",
    [FACT_SCHEDULE] = "schedule", [FACT_SLOT] = "slot", [FACT_WORD] = "word",
};
_Static_assert(countof(holes) == CAUSE_FACTS, "one hole per fact");

const char *cause_name(enum cause cause)
{
    assert(cause < CAUSES);
    return causes[cause].name;
}

static struct str fact_named(struct str name, const struct cause_facts *facts)
{
    size_t i = 0;
    while (!str_eq(name, str_of(holes[i]))) {
        i++;
        assert(i < CAUSE_FACTS);  // every hole of the table has a fact
    }
    return facts->at[i];
}

// What comes from outside goes into the holes and is not looked at for others.
static struct str filled(struct arena *arena, const char *text, const struct cause_facts *facts)
{
    struct buf out = buf_new(arena, CAUSE_TEXT_BYTES_MAX);
    struct str before, hole, rest = str_of(text);
    while (str_cut(rest, '{', &before, &rest)) {
        buf_add(&out, before);
        str_cut(rest, '}', &hole, &rest);
        buf_add(&out, fact_named(hole, facts));
    }
    buf_add(&out, before);
    return buf_str(&out);
}

struct str cause_sentence(struct arena *arena, enum cause cause, const struct cause_facts *facts)
{
    assert(cause < CAUSES);
    return filled(arena, causes[cause].sentence, facts);
}

struct str cause_advice(struct arena *arena, enum cause cause, const struct cause_facts *facts)
{
    assert(cause < CAUSES);
    return filled(arena, causes[cause].advice, facts);
}
