// Commands: what the program can do, as one table from which parsing, dispatch and help come.
//
// A command gets a `struct cli` in which its options are known and well-formed, and answers like
// any operation: bool, and err. What it found out that is no error (a violation, a job that failed)
// goes into `status`.
#pragma once

#include "model/contract.h"
#include "store/db.h"

struct backend;
struct client;

enum option {
    OPTION_STORE,
    OPTION_ORG,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_KEY,
    OPTION_DEDUPE,
    OPTION_QUEUE,
    OPTION_SERIAL_KEY,
    OPTION_LIMIT_KEY,
    OPTION_MAX_RUNNING,
    OPTION_LIMIT_RATE,
    OPTION_AT,
    OPTION_POLICY,
    OPTION_PRIORITY,
    OPTION_HOLD,
    OPTION_WAIT,
    OPTION_MAX_WAIT,
    OPTION_PROJECT,
    OPTION_CORRELATION_ID,
    OPTION_STATE,
    OPTION_TYPE,
    OPTION_LIMIT,
    OPTION_STATUS,
    OPTION_JOBS,
    OPTION_PAYLOAD,
    OPTION_WORKERS,
    OPTION_BATCH,
    OPTION_MODE,
    OPTION_FORCE,
    OPTION_QUEUED,
    OPTION_BLOCKED,
    OPTION_ORGS,
    OPTION_TYPES,
    OPTION_THREADS,
    OPTION_CONFIG,
    OPTION_LISTEN,
    OPTION_ONLY,
    OPTION_EXCLUSIVE,
    OPTION_ROLE,
    OPTION_NAME,
    OPTION_EXPIRES,
    OPTION_YES,
    OPTION_SERVER,
    OPTION_KEY_FILE,
    OPTION_CACERT,
    OPTION_MAN,
    OPTION_MARKDOWN,
    OPTION_TIMEZONE,
    OPTION_FROM,
    OPTION_TO,
    OPTION_COUNT,
    OPTION_SLOT,
    OPTION_DRY_RUN,
    OPTION_ERROR,
    OPTION_REASON,
    OPTION_NEW_PAYLOAD,
    OPTION_AFTER,
    OPTION_BATCH_ID,
    OPTION_CALLBACK,
    OPTION_RATE,
    OPTION_OUTPUT,
    OPTION_CONTENT_TYPE,
    OPTION_ARTIFACTS,
    OPTION_JOB,
    OPTION_EVENT,
    OPTION_SYSTEM,
    OPTION_HEAD,
    OPTION_SINCE,
    OPTION_AFTER_EVENT,
    OPTION_COMPACT,
    OPTION_FROM_STORE,
    OPTION_TO_STORE,
    OPTIONS
};

struct option_row {
    const char *name;               // without its dashes
    const char *value;              // what its value is called; NULL: it has none
    const char *want;               // completes "must be ..."; NULL: the contract judges the value
    bool (*fits)(struct str value);
    const char *values;             // all there are, for completion; NULL: too many to list
};

const struct option_row *option_row(enum option option);

// That a command takes an option, and what it means there.
struct offer {
    enum option option;
    const char *help;  // one line or more
};

// An option as it was typed.
struct typed {
    enum option option;
    struct str value;
};

struct cli {
    struct arena arena;
    const struct world *world;
    const struct command *command;
    bool given[OPTIONS];
    struct str value[OPTIONS];  // the last one, of an option that was given more than once
    struct typed *typed;        // all of them, in their order
    size_t typed_count;
    struct str *words;        // what is no option, the command's name left out
    size_t word_count;
    struct caller caller;
    const struct backend *backend;  // of a command that takes --server
    struct db *db;            // closed by main
    struct client *client;    // closed by main; NULL: no server is asked
    struct str server_org;    // of the key, once the server was asked
    struct problems problems; // main prints each on its own line
    int status;               // of a command that is done: 0, or 1 when the answer is no
};

struct command {
    const char *name;
    const char *words;         // as help shows them: `TYPE [JSON|-]`
    size_t words_min, words_max;
    const char *summary;       // one line
    const char *details;       // more lines; empty: none
    const char *example;
    const struct offer *offers;
    size_t offer_count;
    const char *verbs;         // what its first word can be; NULL: anything
    const char *offline;       // the verb that needs neither server nor store; NULL: none
    const char *repeats;       // the option that may be given more than once; NULL: none
    bool (*act)(struct cli *cli, struct pawl_error *err);
};

const struct command *command_at(size_t index);       // NULL past the end
const struct command *command_find(struct str name);  // NULL when there is none of this name
bool command_offers(const struct command *command, enum option option);

// Reads the words of the command line: options stand anywhere, `--name value` or `--name=value`;
// after `--` there are none. PAWL_USAGE names what is wrong and where to read on. When help or the
// version is asked for, nothing else is looked at.
CHECKED bool cli_parse(struct cli *cli, int argc, char **argv, struct pawl_error *err);

// All values of an option, in the order they were typed; NULL when there is no memory.
struct str *option_values(struct cli *cli, enum option option, size_t *count);

// A refusal of what the user typed, with a hint to the help of the command. Answers false.
CHECKED bool usage(const struct cli *cli, struct pawl_error *err, const char *format, ...)
    PRINTF(3, 4);

// Refuses a word that is no command, with the command it may have been meant for. Answers false.
CHECKED bool unknown_command(struct cli *cli, struct str name, struct pawl_error *err);

// The commands.
CHECKED bool command_enqueue(struct cli *cli, struct pawl_error *err);
CHECKED bool command_import(struct cli *cli, struct pawl_error *err);
CHECKED bool command_jobs(struct cli *cli, struct pawl_error *err);
CHECKED bool command_show(struct cli *cli, struct pawl_error *err);
CHECKED bool command_explain(struct cli *cli, struct pawl_error *err);
CHECKED bool command_submit(struct cli *cli, struct pawl_error *err);
CHECKED bool command_cancel(struct cli *cli, struct pawl_error *err);
CHECKED bool command_retry(struct cli *cli, struct pawl_error *err);
CHECKED bool command_change(struct cli *cli, struct pawl_error *err);
CHECKED bool command_queues(struct cli *cli, struct pawl_error *err);
CHECKED bool command_limits(struct cli *cli, struct pawl_error *err);
CHECKED bool command_queue(struct cli *cli, struct pawl_error *err);
CHECKED bool command_dead(struct cli *cli, struct pawl_error *err);
CHECKED bool command_batch(struct cli *cli, struct pawl_error *err);
CHECKED bool command_artifact(struct cli *cli, struct pawl_error *err);
CHECKED bool command_schedules(struct cli *cli, struct pawl_error *err);
CHECKED bool command_schedule(struct cli *cli, struct pawl_error *err);
CHECKED bool command_verify(struct cli *cli, struct pawl_error *err);
CHECKED bool command_migrate(struct cli *cli, struct pawl_error *err);
CHECKED bool command_backup(struct cli *cli, struct pawl_error *err);
CHECKED bool command_restore(struct cli *cli, struct pawl_error *err);
CHECKED bool command_copy(struct cli *cli, struct pawl_error *err);
CHECKED bool command_doctor(struct cli *cli, struct pawl_error *err);
CHECKED bool command_watch(struct cli *cli, struct pawl_error *err);
CHECKED bool command_bench(struct cli *cli, struct pawl_error *err);
CHECKED bool command_serve(struct cli *cli, struct pawl_error *err);
CHECKED bool command_config(struct cli *cli, struct pawl_error *err);
CHECKED bool command_key(struct cli *cli, struct pawl_error *err);
CHECKED bool command_org(struct cli *cli, struct pawl_error *err);
CHECKED bool command_alerts(struct cli *cli, struct pawl_error *err);
CHECKED bool command_retention(struct cli *cli, struct pawl_error *err);
CHECKED bool command_erase(struct cli *cli, struct pawl_error *err);
CHECKED bool command_audit(struct cli *cli, struct pawl_error *err);
CHECKED bool command_completion(struct cli *cli, struct pawl_error *err);
CHECKED bool command_help(struct cli *cli, struct pawl_error *err);

void help_program(void);
void help_command(const struct command *command);
