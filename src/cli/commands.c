// The table of commands. A new command is a row here and a function.
#include "cli/backend.h"

// clang-format off
#define STORE { OPTION_STORE, "the store; else $PAWL_STORE, else sqlite:pawl.db" }
#define ORG { OPTION_ORG, "in whose name; else the default org. Only on a store" }
#define WHERE                                                                                 \
    { OPTION_SERVER, "ask this server; else $PAWL_SERVER, else " SERVER_DEFAULT "\n"          \
                     "if one answers there, and the store else" },                            \
    { OPTION_KEY_FILE, "where the API key is; else $PAWL_API_KEY" },                          \
    { OPTION_CACERT, "who may sign a server's certificate (PEM); else $PAWL_CACERT" },        \
    { OPTION_STORE, "work on this store; else $PAWL_STORE, else sqlite:pawl.db" }
#define MANY                                                                                  \
    { OPTION_STATE, "only in this state: CREATED QUEUED RUNNING RETRYING SUCCEEDED\n"        \
                    "FAILED TIMED_OUT" },                                                     \
    { OPTION_QUEUE, "only of this queue" },                                                   \
    { OPTION_TYPE, "only of this type" },                                                     \
    { OPTION_SERIAL_KEY, "only of this serial key" },                                         \
    { OPTION_CORRELATION_ID, "only of this correlation" },                                    \
    { OPTION_PROJECT, "only of this project" },                                               \
    { OPTION_BATCH_ID, "only of this batch" },                                                \
    { OPTION_DRY_RUN, "change nothing, only say how many and which" },                        \
    { OPTION_YES, "do not ask" }
#define JSON { OPTION_JSON, "print JSON" }
#define HELP { OPTION_HELP, "this page" }
#define OFFERS(...)                          \
    .offers = (const struct offer[]){ __VA_ARGS__ }, \
    .offer_count = sizeof((const struct offer[]){ __VA_ARGS__ }) / sizeof(struct offer)

static const struct command commands[] = {
    { "enqueue", "TYPE [JSON|-]", 1, 2, "store one job",
      .details =
          "The payload is a JSON object, {} when left out, or - to read it from standard input.\n"
          "It has at most 1 MiB and 31 levels of nesting (32 with the job around it).\n"
          "Without --key or --dedupe the job gets a key of its own. A key that is known already\n"
          "gives the job that has it; with other content it is refused.\n",
      .example = "pawl enqueue report.export '{\"month\": \"2026-08\"}' --key export-2026-08",
      .act = command_enqueue,
      .repeats = "after",
      OFFERS({ OPTION_KEY, "the same key is the same job; with another type, project,\n"
                           "payload, serial key or time it is refused" },
             { OPTION_DEDUPE, "derive the key from type, org, project and payload" },
             { OPTION_QUEUE, "another queue than its policy's" },
             { OPTION_SERIAL_KEY, "one job of this key runs at a time, oldest first" },
             { OPTION_LIMIT_KEY, "what limits per key of its type go by, see pawl limits" },
             { OPTION_AT, "not before this time: RFC 3339, now, or from now: +5m\n"
                          "(in full with --key or --dedupe; units: ms s m h d)" },
             { OPTION_POLICY, "how it is retried and timed out, see below; else `default`" },
             { OPTION_PRIORITY, "-100 to 100, higher first; else 0" },
             { OPTION_HOLD, "leave it CREATED until `pawl submit`" },
             { OPTION_MAX_WAIT, "give up when nobody took it for so long: 10m" },
             { OPTION_PROJECT, "the project it belongs to" },
             { OPTION_CORRELATION_ID, "what it has in common with other work" },
             { OPTION_AFTER, "run it when this job has SUCCEEDED, and fail it when that job\n"
                             "ends otherwise; may be given more than once" },
             { OPTION_BATCH_ID, "the batch it joins: one that has not ended" },
             { OPTION_WAIT, "wait for its end and print how it ended: 0 when it SUCCEEDED,\n"
                            "else 1" },
             WHERE, ORG, JSON, HELP) },
    { "import", "FILE.jsonl", 1, 1, "store many jobs, one JSON object per line",
      .details =
          "Each line is a job object; - reads standard input. A line needs job_type and payload,\n"
          "and may have\n"
          "  idempotency_key project_id actor_type actor_id request_id correlation_id\n"
          "  scheduled_for traceparent queue priority serial_key policy max_wait after batch_id\n"
          "  limit_key authorized_by submit org_id\n"
          "Running it again is harmless: keys deduplicate, and a line without idempotency_key\n"
          "gets one derived from its content. A line that breaks the contract is reported with\n"
          "its number and left out; the others are stored.\n",
      .example = "pawl import jobs.jsonl",
      .act = command_import,
      OFFERS(WHERE, ORG, JSON, HELP) },
    { "jobs", "", 0, 0, "list jobs, newest first",
      .details = "On a narrow terminal the rightmost columns are left out.\n",
      .example = "pawl jobs --state FAILED --type report.export --limit 50",
      .act = command_jobs,
      OFFERS({ OPTION_STATE, "CREATED QUEUED RUNNING RETRYING SUCCEEDED FAILED TIMED_OUT" },
             { OPTION_QUEUE, "only of this queue" },
             { OPTION_TYPE, "only of this type" },
             { OPTION_SERIAL_KEY, "only of this serial key" },
             { OPTION_BATCH_ID, "only of this batch" },
             { OPTION_LIMIT, "how many, 1 to 10000; else 20" },
             WHERE, ORG, JSON, HELP) },
    { "show", "ID", 1, 1, "show one job with its executions, steps and audit trail",
      .details = "",
      .example = "pawl show 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44",
      .act = command_show,
      OFFERS(WHERE, ORG, JSON, HELP) },
    { "explain", "ID", 1, 1, "say why a job is where it is, and what to do about it",
      .details =
          "Names the one cause that keeps the job where it is, or ended it as it did: held, not\n"
          "due, backing off, behind its serial key, in a paused queue, behind other jobs, without\n"
          "a worker, with one that fell silent, out of attempts, and so on; since when, until\n"
          "when, and what to do. What else is true of it follows as `also`.\n",
      .example = "pawl explain 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44",
      .act = command_explain,
      OFFERS(WHERE, ORG, JSON, HELP) },
    { "submit", "ID", 1, 1, "submit a job that was left CREATED",
      .details = "",
      .example = "pawl submit 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44",
      .act = command_submit,
      OFFERS(WHERE, ORG, JSON, HELP) },
    { "cancel", "[ID]", 0, 1, "end a waiting job, or ask a running one to stop; or all of a filter",
      .details =
          "Without an ID all jobs of the filter that have not ended, a few hundred in each\n"
          "transaction. On a terminal it says how many there are and asks; elsewhere it wants\n"
          "--yes. Jobs that wait for a cancelled one fail: DEPENDENCY_FAILED.\n",
      .example = "pawl cancel --type report.export --queue q:exports --dry-run",
      .act = command_cancel,
      OFFERS(MANY, WHERE, ORG, JSON, HELP) },
    { "retry", "[ID]", 0, 1, "make a new job from a finished one, or from all of a filter",
      .details =
          "The new job has the same content, a key of its own, and its parent's id. It goes back\n"
          "to its parent's original queue and priority, and closes its parent's dead letter if\n"
          "that is open. It waits for no other job and is in no batch, whatever its parent was.\n"
          "Without an ID all jobs of the filter that have ended and were not retried before. On a\n"
          "terminal it says how many there are and asks; elsewhere it wants --yes.\n",
      .example = "pawl retry --state FAILED --type report.export --dry-run",
      .act = command_retry,
      OFFERS(MANY, WHERE, ORG, JSON, HELP) },
    { "change", "ID", 1, 1, "change time, priority or queue of a waiting job",
      .details = "",
      .example = "pawl change 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44 --at +10m --priority 5",
      .act = command_change,
      OFFERS({ OPTION_AT, "not before this time: RFC 3339, now, or from now: +5m" },
             { OPTION_PRIORITY, "-100 to 100, higher first" },
             { OPTION_QUEUE, "the queue it moves to" },
             WHERE, ORG, JSON, HELP) },
    { "queues", "", 0, 0, "show queues: what waits, what runs, what goes through, what is paused",
      .details =
          "Without --org all orgs together. WEIGHT says how often a queue is served while others\n"
          "wait too; critical goes first, for at most nine jobs of ten. OLDEST is how long ago\n"
          "the oldest ready job could have been taken. IN/MIN and OUT/MIN are the jobs that came\n"
          "and that ended, well or badly, in the last minute.\n",
      .example = "pawl queues",
      .act = command_queues,
      OFFERS({ OPTION_ORG, "only the share of this org" }, WHERE, JSON, HELP) },
    { "limits", "[resume TYPE]", 0, 2, "show limits and paused types; let a paused type go on",
      .details =
          "Limits of queues, types and keys come from pawl.yaml or the program that embeds Pawl;\n"
          "those of orgs also from `pawl org limit`. RUNNING is what runs under a limit now.\n"
          "A type is paused when a job of it ends rate_limited and on_rate_limited says so; it\n"
          "goes on by itself. Without --org, resume ends the pause for every org.\n",
      .example = "pawl limits resume mail.send",
      .act = command_limits,
      .verbs = "resume",
      OFFERS({ OPTION_ORG, "only what holds for this org" }, WHERE, JSON, HELP) },
    { "queue", "pause|resume|purge QUEUE", 2, 2, "pause, resume or empty a queue",
      .details =
          "pause   nothing of it is taken any more; it still takes jobs, and what runs goes on\n"
          "resume  what was paused goes on\n"
          "purge   ends every job that waits in it: FAILED, RESOURCE_EXHAUSTED. What runs, and\n"
          "        what comes meanwhile, stays. Without --yes it only says how many there are.\n"
          "\n"
          "Without --org the whole queue, of every org.\n",
      .example = "pawl queue pause q:exports",
      .act = command_queue,
      .verbs = "pause resume purge",
      OFFERS({ OPTION_ORG, "only the share of this org" },
             { OPTION_YES, "purge, and do not only count" },
             WHERE, JSON, HELP) },
    { "dead", "list|groups | show|replay|discard|fix ID", 1, 2,
      "dead letters: jobs that ended badly and wait for a decision",
      .details =
          "list     those that are open, newest first; ERROR is the same for the same error\n"
          "groups   the same counted by error: where to begin\n"
          "show     one with every attempt, and what its type's runbook says\n"
          "replay   makes the same job again\n"
          "discard  nothing will be done about it; --reason says why\n"
          "fix      makes it again with another payload, and shows what that changes\n"
          "\n"
          "Each closes the letter, which happens once: a closed one is refused (4). Without an\n"
          "ID, replay and discard take all of --type, --error and --queue, at most 500 at a\n"
          "time; with --rate they go on until there are no more, and no faster than that; with\n"
          "--dry-run they only say which. The letter's own job never changes: the\n"
          "new one has its id as parent_job_id. See docs/operations.md.\n",
      .example = "pawl dead replay --type report.export --error 3f9a01c2b7de --dry-run",
      .act = command_dead,
      .verbs = "list groups show replay discard fix",
      OFFERS({ OPTION_TYPE, "only jobs of this type" },
             { OPTION_ERROR, "only letters with this error, as list and groups show it" },
             { OPTION_QUEUE, "only jobs that came from this queue" },
             { OPTION_LIMIT, "list: how many, 1 to 10000; else 20. replay and discard: at most\n"
                             "500, else 500; with --rate at most 10000, else 10000" },
             { OPTION_RATE, "replay and discard of many: so many a second, such as 100/s" },
             { OPTION_REASON, "discard: why nobody needs it; kept in the audit trail" },
             { OPTION_NEW_PAYLOAD, "fix: the whole new payload, or - to read standard input" },
             { OPTION_DRY_RUN, "replay and discard of many, fix: change nothing" },
             WHERE, ORG, JSON, HELP) },
    { "batch", "create FILE.jsonl | show ID", 2, 2,
      "jobs that belong together, and a job that follows when all have ended",
      .details =
          "create  stores the jobs of the file, one object per line as for import, at most 1,000\n"
          "        and 8 MiB: all of them or, when one is refused, none. With --callback a job of\n"
          "        that type is made when the last of them has ended, however they did; its\n"
          "        payload is --payload with the numbers of the batch as `batch`\n"
          "show    how many have ended, and how\n"
          "\n"
          "Others can join until it has ended: pawl enqueue --batch-id ID. With --wait both wait\n"
          "for its end: 0 when all SUCCEEDED, else 1. Its jobs: pawl jobs --batch-id ID.\n",
      .example = "pawl batch create reports.jsonl --callback reports.mail --wait",
      .act = command_batch,
      .verbs = "create show",
      OFFERS({ OPTION_CALLBACK, "create: the type of the job that follows" },
             { OPTION_NEW_PAYLOAD, "create: the payload of that job; else {}" },
             { OPTION_NAME, "create: what people call it" },
             { OPTION_KEY, "create: the same key is the same batch" },
             { OPTION_PROJECT, "create: the project it belongs to" },
             { OPTION_WAIT, "wait until all have ended, with a progress bar" },
             WHERE, ORG, JSON, HELP) },
    { "artifact", "put FILE | get|show|rm ID", 2, 2,
      "bytes with a checksum, for jobs and from jobs",
      .details =
          "put   stores a file, or - for standard input, and prints its id\n"
          "get   writes the bytes to --output, or to standard output if that is no terminal;\n"
          "      they are there under that name only if their SHA-256 is right\n"
          "show  what is known of one\n"
          "rm    removes one for good, unless a job that has not ended needs it\n"
          "\n"
          "A job of category transfer names its inputs in its payload, as\n"
          "{\"input\": {\"artifact_id\": ID, \"sha256\": SUM}}. See docs/artifacts.md.\n",
      .example = "pawl artifact put report.csv --content-type text/csv",
      .act = command_artifact,
      .verbs = "put get show rm",
      OFFERS({ OPTION_NAME, "put: what people call it; else the name of the file" },
             { OPTION_CONTENT_TYPE, "put: what it is; else application/octet-stream" },
             { OPTION_PROJECT, "put: the project it belongs to" },
             { OPTION_OUTPUT, "get: the file to write" },
             WHERE, ORG, JSON, HELP) },
    { "schedules", "", 0, 0, "list what comes by the clock, and when",
      .details = "On a narrow terminal the rightmost columns are left out.\n",
      .example = "pawl schedules",
      .act = command_schedules,
      OFFERS({ OPTION_LIMIT, "how many, 1 to 10000; else all" },
             WHERE, ORG, JSON, HELP) },
    { "schedule", "show|next|runs|skips|trigger|backfill|pause|resume NAME | explain EXPR", 2, 2,
      "look at a schedule, run its slots by hand, pause it; explain an expression",
      .details =
          "show      its terms in words, and when it is due\n"
          "next      the coming slots, with what the clock on the wall shows then\n"
          "runs      slots that were claimed, and what became of their jobs\n"
          "skips     slots that were not run, why, and what to do about it\n"
          "trigger   claims the slot of --slot and runs its job, by the rules of any other: one\n"
          "          that was claimed before, or that is one too many at once, is refused (4)\n"
          "backfill  claims every slot from --from to --to that nobody has claimed, at most 1000;\n"
          "          they run one after another. With --dry-run it only says which\n"
          "pause     slots that come are skipped, for that reason; what runs goes on\n"
          "resume    slots that come run again\n"
          "explain   a cron expression, or an interval such as 15m, in words and by its coming\n"
          "          slots. Those that a change of the clock moves have a note. It needs neither\n"
          "          server nor store: pawl schedule explain '30 2 * * 1-5' --timezone Asia/Tokyo\n"
          "\n"
          "Schedules are made in pawl.yaml, over HTTP or by a program. An expression has five\n"
          "fields: minute, hour, day of month, month, day of week; with six the second comes\n"
          "first. Put it in quotes: the shell has a use for * too. See docs/schedules.md.\n",
      .example = "pawl schedule trigger nightly --slot 2026-11-16T02:00:00Z",
      .act = command_schedule,
      .verbs = "show next runs skips trigger backfill pause resume explain",
      .offline = "explain",
      OFFERS({ OPTION_SLOT, "trigger: which slot: RFC 3339, in whole seconds, or now" },
             { OPTION_FROM, "backfill: the first slot; next and explain: begin here, else now" },
             { OPTION_TO, "backfill: the last slot" },
             { OPTION_DRY_RUN, "backfill: change nothing" },
             { OPTION_COUNT, "next and explain: how many slots, 1 to 10000; else 10" },
             { OPTION_LIMIT, "runs and skips: how many rows, 1 to 10000; else 20" },
             { OPTION_TIMEZONE, "explain: whose clock, such as Europe/Berlin; else UTC" },
             WHERE, ORG, JSON, HELP) },
    { "verify", "", 0, 0, "recompute every state and check every invariant",
      .details =
          "Reads the whole store, of every org, page by page, while others go on working.\n"
          "Prints `0 violations`, or each one and exits 1.\n",
      .example = "pawl verify --store sqlite:/var/lib/pawl/pawl.db",
      .act = command_verify,
      OFFERS({ OPTION_ARTIFACTS, "read the files of artifacts too and check their SHA-256; else\n"
                                 "only their sizes are looked at" },
             STORE, JSON, HELP) },
    { "migrate", "", 0, 0, "create the store, or bring its schema up to date",
      .details =
          "Every command that writes does this by itself. A process of an older pawl that has the\n"
          "store open writes no more from then on, and says so. See docs/operations.md.\n",
      .example = "pawl migrate --dry-run",
      .act = command_migrate,
      OFFERS({ OPTION_STATUS, "only look: what is applied, what is pending" },
             { OPTION_DRY_RUN, "migrate and verify a copy, which is made beside the store and\n"
                               "removed" },
             STORE, JSON, HELP) },
    { "watch", "[ID]", 0, 1, "look on: queues, workers and ends, or one job's progress to its end",
      .details =
          "Without an ID a screen that is drawn once a second, until Ctrl-C; where the output is\n"
          "no terminal, a line a second. With one, its state and progress until it ends: exits 0\n"
          "when it SUCCEEDED, else 1, as `pawl enqueue --wait` does.\n",
      .example = "pawl watch 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44",
      .act = command_watch,
      OFFERS({ OPTION_COUNT, "look so many times and end; else for ever. Not with an ID" },
             { OPTION_ORG, "only the share of this org" }, WHERE, JSON, HELP) },
    { "doctor", "", 0, 0, "look for what is wrong: configuration, store, disk, clock, stuck jobs",
      .details =
          "Each check is a line: ok, warn or bad, what it found, and below the table what to do.\n"
          "Exits 1 when one is bad. On a store it looks at the machine, the file and the records;\n"
          "through a server only at what its API tells.\n",
      .example = "pawl doctor --config /etc/pawl/pawl.yaml --store sqlite:/var/lib/pawl/pawl.db",
      .act = command_doctor,
      OFFERS({ OPTION_CONFIG, "check this configuration too" }, WHERE, JSON, HELP) },
    { "backup", "FILE", 1, 1, "copy a store that is in use into a file, and check the copy",
      .details =
          "The copy is one moment of the store. It is made as FILE.tmp, synced, checked and\n"
          "verified, and only then named: FILE is whole or not there. Artifacts go to\n"
          "FILE.artifacts, as links where that can be. A file that exists is refused (4).\n"
          "Meanwhile the store's log cannot start over: it grows by what is written.\n",
      .example = "pawl backup /var/backups/pawl-2026-11-16.db --store sqlite:/var/lib/pawl/pawl.db",
      .act = command_backup,
      OFFERS({ OPTION_FORCE, "keep the copy even if `pawl verify` finds something in it" },
             STORE, JSON, HELP) },
    { "restore", "FILE", 1, 1, "make a store from a backup",
      .details =
          "The backup is copied, checked and verified beside the store, then takes its name in\n"
          "one step; killed at any moment there is the old store or the new one. End what works\n"
          "on the store before: one that is in use is refused (4).\n"
          "\n"
          "The restored store knows nothing of what came after the backup: jobs that ended since\n"
          "run again, jobs that were enqueued since are gone, runs of that time are refused, and\n"
          "what was running is taken up again when its lease is over. See docs/operations.md.\n",
      .example = "pawl restore /var/backups/pawl-2026-11-16.db --hold --force",
      .act = command_restore,
      OFFERS({ OPTION_FORCE, "in place of a store that is there; it is kept as\n"
                             "STORE.before-restore-TIME" },
             { OPTION_HOLD, "pause every queue, so that nothing runs before you have looked" },
             STORE, JSON, HELP) },
    { "copy", "", 0, 0, "move a whole store from SQLite to PostgreSQL, or back",
      .details =
          "End every server and program that works on the source: one that is in use is refused\n"
          "(4), and while it is copied nobody can write to it. The target must be yet to be made,\n"
          "or empty. Killed at any moment it goes on where it was when the same command is run\n"
          "again; until it is done every pawl refuses the target.\n"
          "\n"
          "At the end every row is compared with its original, the target is verified as by\n"
          "`pawl verify --artifacts` and `pawl audit verify`, and only then it can be used. Files\n"
          "of artifacts go along. The source stays as it is: do not work on both.\n",
      .example = "pawl copy --from sqlite:pawl.db --to postgres://pawl@db.example/jobs",
      .act = command_copy,
      OFFERS({ OPTION_FROM_STORE, "the store there is" },
             { OPTION_TO_STORE, "the store to make" },
             { OPTION_FORCE, "keep the copy even if `pawl verify` finds something in it" },
             JSON, HELP) },
    { "bench", "", 0, 0, "measure what Pawl does on this machine, beside plain inserts",
      .details =
          "Every figure stands beside a control of the same run: plain inserts of the same row\n"
          "into a fresh SQLite file, or a fresh table of the same PostgreSQL server, equally\n"
          "durable. Compare ratios: seconds are the disk's.\n"
          "\n"
          "lifecycle_per_s is jobs / (time to enqueue all + time to drain all), in transactions\n"
          "of --batch jobs: enqueue; claim and start; commit and end. The last two are the drain\n"
          "of drain_per_s. runner_drain_per_s is a drain by the library's own runner, with empty\n"
          "handlers in --workers threads. Pickup is the time from the call of enqueue to the\n"
          "start of the handler.\n"
          "\n"
          "It works on temporary stores below $TMPDIR, else here, and removes them; with --store\n"
          "on a store of yours, where its jobs stay. With --queued or --blocked an empty store\n"
          "is measured in turns with the full one, with --orgs or --types one of a single tenant\n"
          "and type.\n"
          "\n"
          "--mode http starts a server on a free port of this machine and a temporary store, and\n"
          "measures it in turns with the library: single jobs from --threads connections, batches\n"
          "of a worker, single jobs at 1,000 a second counted from when each was due, then the\n"
          "server at rest, with 5,000 long-polls, and how soon it is ready.\n",
      .example = "pawl bench --queued 1000000 --orgs 1000 --types 8",
      .act = command_bench,
      OFFERS({ OPTION_JOBS, "how many live through it; else 100000, 50000 over HTTP" },
             { OPTION_PAYLOAD, "of each, 20 to 1048576; else 200" },
             { OPTION_BATCH, "jobs in one transaction, 1 to 1000; else 1000, 100 over HTTP" },
             { OPTION_WORKERS, "threads that run handlers, 1 to 1000; else 4" },
             { OPTION_THREADS, "threads or connections that enqueue one by one; else 50" },
             { OPTION_QUEUED, "jobs that wait before it begins; else 0" },
             { OPTION_BLOCKED, "jobs that wait behind one that runs; else 0" },
             { OPTION_ORGS, "tenants, in turn, 1 to 100000; else 1" },
             { OPTION_TYPES, "types of jobs, in turn, 1 to 64; else 1" },
             { OPTION_MODE, "embedded, which is the default, or http" },
             { OPTION_STORE, "a store to measure on; else a temporary one" },
             { OPTION_FORCE, "also on a store that holds jobs" },
             JSON, HELP) },
    { "serve", "", 0, 0, "the server: HTTP API, and a runner for the commands of pawl.yaml",
      .details =
          "Without --config it works on sqlite:pawl.db and 127.0.0.1:7319, and every caller on\n"
          "this machine is admin until the first key is made (pawl key create).\n"
          "SIGTERM ends it gracefully: what runs may end, what has not begun is given back.\n"
          "SIGHUP reads the configuration again; a bad one is refused and the old one kept.\n"
          "--only splits it into two services on one store: the API never runs a job and never\n"
          "schedules, and a worker answers no requests (with --listen only health and metrics).\n",
      .example = "pawl serve --config pawl.yaml",
      .act = command_serve,
      OFFERS({ OPTION_CONFIG, "the configuration; see docs/configuration.md" },
             { OPTION_LISTEN, "where; else as configured, else 127.0.0.1:7319" },
             { OPTION_ONLY, "api or worker" },
             { OPTION_EXCLUSIVE, "at most one process of this kind works on the store" },
             STORE, HELP) },
    { "config", "check FILE | keys", 1, 2, "check a configuration, or list its keys",
      .details =
          "`check` reads the file as the server does and prints that it is fine, or every problem\n"
          "with its line, column and key, and exits 1. `keys` prints what may be in the file, as\n"
          "Markdown: form, default and meaning of every key.\n",
      .example = "pawl config check pawl.yaml",
      .act = command_config,
      .verbs = "check keys",
      OFFERS(JSON, HELP) },
    { "key", "create|list|revoke [ID]", 1, 2, "make, list and end the keys of an org",
      .details =
          "From the first key of its store on, every request to a server needs one. A key is of\n"
          "one org, which is made if nobody has used it, and may be limited to projects. Roles:\n"
          "  producer  enqueue, read, cancel, retry, artifacts\n"
          "  worker    lease, executions, steps, artifacts, read\n"
          "  viewer    read; payloads only if configured\n"
          "  operator  as viewer; cancel, retry, change, dead letters, queues, schedules,\n"
          "            artifacts\n"
          "  admin     all, and keys\n"
          "create prints the key on standard output, once: only a hash of it is stored. To\n"
          "replace a key, create another, let its user change over, then revoke the first.\n"
          "revoke takes the id, the third part of a key; servers obey within 10 s.\n",
      .example = "pawl key create --role worker --name reports-1 --expires 90d",
      .act = command_key,
      .verbs = "create list revoke",
      .repeats = "project",
      OFFERS({ OPTION_ROLE, "what its holder may do, see above; create needs it" },
             { OPTION_PROJECT, "only this project; may be given more than once" },
             { OPTION_NAME, "what people call it" },
             { OPTION_EXPIRES, "until when it is good: RFC 3339, or from now: 90d; else for ever" },
             { OPTION_CONFIG, "create on a store: whose auth.environment it has; else live" },
             WHERE, ORG, JSON, HELP) },
    { "org", "list|disable|enable|weight|limit|erase [UUID [N]]", 1, 3,
      "list the orgs of a store; refuse all keys of one, give it more or less, erase it",
      .details =
          "An org that is disabled keeps its jobs, and those that are stored go on; no request\n"
          "with one of its keys is answered any more. enable takes that back.\n"
          "\n"
          "Where several orgs have jobs ready in a queue they take turns, of 16 jobs each, or a\n"
          "sixteenth of what is claimed at once, times their weight: 1 unless set, 100 at most.\n"
          "\n"
          "limit sets how many of its jobs may run at once and begin per time, in place of\n"
          "limits.org_max_running and org_rate; --max-running 0 and --rate none are no limit, and\n"
          "with both of them those of every org hold again. See pawl limits.\n"
          "\n"
          "erase disables it, revokes its keys and removes all its jobs and schedules, for good;\n"
          "its audit trail, which has ids and no contents, is kept as long as any. Without --yes\n"
          "it only says how much that is. Jobs that run are in the way. Backups are not touched.\n",
      .example = "pawl org weight 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44 3",
      .act = command_org,
      .verbs = "list disable enable weight limit erase",
      OFFERS({ OPTION_MAX_RUNNING, "how many of its jobs may run at once" },
             { OPTION_LIMIT_RATE, "how many may begin per time: 100/s, 10/m, 500/h burst 5" },
             { OPTION_YES, "erase, and do not only count" },
             { OPTION_COMPACT, "after erasing, write the store's file anew" }, STORE, JSON, HELP) },
    { "erase", "ID", 1, 1, "overwrite the contents of a job that has ended",
      .details =
          "Payload, result, errors, progress, results of steps and the log go; state, times, ids\n"
          "and the audit trail stay. It cannot be run again. Jobs that were made of it have\n"
          "contents of their own, and backups are not touched.\n",
      .example = "pawl erase 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44",
      .act = command_erase,
      OFFERS({ OPTION_COMPACT, "on a store: write its file anew, so that free space has no older\n"
                               "copy; takes as long as copying the store, and as much room" },
             WHERE, ORG, JSON, HELP) },
    { "retention", "", 0, 0, "remove what has ended long enough ago, now",
      .details =
          "Does at once what servers do every hour (schedule `pawl.retention`), by the times\n"
          "under `retention:` of the configuration. Not removed are jobs that have not ended,\n"
          "open dead letters, jobs whose idempotency key still counts, and jobs of which another\n"
          "was made that is still there.\n",
      .example = "pawl retention --dry-run --config pawl.yaml --store sqlite:pawl.db",
      .act = command_retention,
      OFFERS({ OPTION_DRY_RUN, "only say how much would go" },
             { OPTION_CONFIG, "whose times; else those built in" }, STORE, JSON, HELP) },
    { "audit", "list|verify|export|seal|annotate", 1, 3,
      "who did what, and whether the record of it is whole",
      .details =
          "list    what was done in an org, newest first; with --system what is no org's: the\n"
          "        configuration, processes, whole queues, the leader\n"
          "verify  recomputes the chain of seals: says of every event and every seal that was\n"
          "        changed, removed or put in which one it is, and exits 1. What was cut off at\n"
          "        the end is found with --head, a hash that an earlier run printed\n"
          "export  one JSON object per line, oldest first, each with its seal. To go on where an\n"
          "        earlier export ended, pass its last event_id as --after-event\n"
          "seal    seals what is not sealed yet; a server does it by itself, seconds behind\n"
          "annotate EVENT_ID|JOB_ID TEXT\n"
          "        adds a note to an event or to a job: an event of its own, of at most 4096\n"
          "        bytes, sealed with the rest and never removed by hand\n"
          "\n"
          "All but list and annotate work on a store only, and so does list --system.\n",
      .example = "pawl audit verify --store sqlite:pawl.db",
      .act = command_audit,
      .verbs = "list verify export seal annotate",
      OFFERS({ OPTION_JOB, "list: only of this job" },
             { OPTION_EVENT, "list: only of this name, such as job.failed" },
             { OPTION_SYSTEM, "list: what concerns the whole store" },
             { OPTION_LIMIT, "list: how many, 1 to 10000; else 20" },
             { OPTION_HEAD, "verify: the chain must have a seal with this hash" },
             { OPTION_SINCE, "export: from this time on" },
             { OPTION_AFTER_EVENT, "export: after this event" },
             { OPTION_ORG, "only of this org; list: else the default org" },
             WHERE, JSON, HELP) },
    { "alerts", "list|test", 1, 1, "show what was told to whom, or try whether telling works",
      .details =
          "list shows the newest alerts of the store with their deliveries. test sends a test\n"
          "alert to every target of a configuration, says what came back, and exits 1 when one\n"
          "was not delivered. Neither needs a server.\n",
      .example = "pawl alerts test --config pawl.yaml",
      .act = command_alerts,
      .verbs = "list test",
      OFFERS({ OPTION_CONFIG, "whose targets are tried" },
             { OPTION_LIMIT, "how many are listed, 1 to 10000; else 20" },
             STORE, JSON, HELP) },
    { "completion", "bash|zsh", 1, 1, "print a script that completes commands in a shell",
      .details =
          "For one session of bash: source <(pawl completion bash). For good it is installed with\n"
          "pawl, as the manual is: man pawl.\n",
      .example = "pawl completion zsh > ~/.zfunc/_pawl",
      .act = command_completion,
      .verbs = "bash zsh",
      OFFERS(HELP) },
    { "help", "[COMMAND]", 0, 1, "explain a command, or print the manual of all",
      .details = "",
      .example = "pawl help enqueue",
      .act = command_help,
      OFFERS({ OPTION_MAN, "the manual page, for man -l or a file pawl.1" },
             { OPTION_MARKDOWN, "the same as Markdown" }, HELP) },
};
// clang-format on

const struct command *command_at(size_t index)
{
    return index < countof(commands) ? &commands[index] : NULL;
}

const struct command *command_find(struct str name)
{
    for (size_t i = 0; i < countof(commands); i++)
        if (str_eq(name, str_of(commands[i].name)))
            return &commands[i];
    return NULL;
}
