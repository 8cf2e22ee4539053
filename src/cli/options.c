// The command line is read twice: once for the command, since options may stand before it and what
// they can be depends on it, and once for the words and options themselves.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/guess.h"
#include "cli/command.h"
#include "cli/value.h"
#include "model/fingerprint.h"
#include "model/limit.h"

// clang-format off
#define ANY NULL, NULL, NULL
#define NUMBER "a whole number", value_is_number, NULL
#define MOMENT "a time such as 2026-08-22T10:00:00Z", value_is_moment, NULL
static const struct option_row rows[] = {
    [OPTION_STORE]          = { "store", "URL", ANY },
    [OPTION_ORG]            = { "org", "UUID", "a UUID in lower case", uuid_valid, NULL },
    [OPTION_JSON]           = { "json", NULL, ANY },
    [OPTION_HELP]           = { "help", NULL, ANY },
    [OPTION_VERSION]        = { "version", NULL, ANY },
    [OPTION_KEY]            = { "key", "KEY", ANY },
    [OPTION_DEDUPE]         = { "dedupe", NULL, ANY },
    [OPTION_QUEUE]          = { "queue", "QUEUE", ANY },
    [OPTION_SERIAL_KEY]     = { "serial-key", "KEY", ANY },
    [OPTION_LIMIT_KEY]      = { "limit-key", "KEY", ANY },
    [OPTION_MAX_RUNNING]    = { "max-running", "N", NUMBER },
    [OPTION_LIMIT_RATE]     = { "rate", "RATE", "none, or " RATE_WANT, value_is_limit_rate, NULL },
    [OPTION_AT]             = { "at", "TIME", "a time such as 2026-08-22T10:00:00Z, now, or from "
                                "now such as +5m (units: ms s m h d)", value_is_time, NULL },
    [OPTION_POLICY]         = { "policy", "POLICY", ANY },
    [OPTION_PRIORITY]       = { "priority", "N", "a whole number from -100 to 100",
                                value_is_priority, NULL },
    [OPTION_HOLD]           = { "hold", NULL, ANY },
    [OPTION_WAIT]           = { "wait", NULL, ANY },
    [OPTION_MAX_WAIT]       = { "max-wait", "DURATION", "a duration such as 30s (units: ms s m h "
                                "d), longer than nothing", value_is_duration, NULL },
    [OPTION_PROJECT]        = { "project", "UUID", "a UUID in lower case", uuid_valid, NULL },
    [OPTION_CORRELATION_ID] = { "correlation-id", "ID", ANY },
    [OPTION_STATE]          = { "state", "STATE", "CREATED, QUEUED, RUNNING, RETRYING, SUCCEEDED, "
                                "FAILED or TIMED_OUT", value_is_state,
                                "CREATED QUEUED RUNNING RETRYING SUCCEEDED FAILED TIMED_OUT" },
    [OPTION_TYPE]           = { "type", "TYPE", ANY },
    [OPTION_LIMIT]          = { "limit", "N", "a whole number from 1 to 10000", value_is_limit,
                                NULL },
    [OPTION_STATUS]         = { "status", NULL, ANY },
    [OPTION_JOBS]           = { "jobs", "N", NUMBER },
    [OPTION_PAYLOAD]        = { "payload", "BYTES", NUMBER },
    [OPTION_WORKERS]        = { "workers", "N", NUMBER },
    [OPTION_BATCH]          = { "batch", "N", NUMBER },
    [OPTION_MODE]           = { "mode", "MODE", "embedded or http", value_is_mode,
                                "embedded http" },
    [OPTION_FORCE]          = { "force", NULL, ANY },
    [OPTION_QUEUED]         = { "queued", "N", NUMBER },
    [OPTION_BLOCKED]        = { "blocked", "N", NUMBER },
    [OPTION_ORGS]           = { "orgs", "N", NUMBER },
    [OPTION_TYPES]          = { "types", "N", NUMBER },
    [OPTION_THREADS]        = { "threads", "N", NUMBER },
    [OPTION_CONFIG]         = { "config", "FILE", ANY },
    [OPTION_LISTEN]         = { "listen", "HOST:PORT", ANY },
    [OPTION_ONLY]           = { "only", "PART", "api or worker", value_is_part,
                                "api worker" },
    [OPTION_EXCLUSIVE]      = { "exclusive", NULL, ANY },
    [OPTION_ROLE]           = { "role", "ROLE", "producer, worker, viewer, operator or admin",
                                value_is_role, "producer worker viewer operator admin" },
    [OPTION_NAME]           = { "name", "NAME", ANY },
    [OPTION_EXPIRES]        = { "expires", "TIME", "a time such as 2027-08-22T10:00:00Z, or from "
                                "now such as 90d (units: ms s m h d)", value_is_time, NULL },
    [OPTION_YES]            = { "yes", NULL, ANY },
    [OPTION_SERVER]         = { "server", "URL", ANY },
    [OPTION_KEY_FILE]       = { "key-file", "FILE", ANY },
    [OPTION_CACERT]         = { "cacert", "FILE", ANY },
    [OPTION_MAN]            = { "man", NULL, ANY },
    [OPTION_MARKDOWN]       = { "markdown", NULL, ANY },
    [OPTION_TIMEZONE]       = { "timezone", "ZONE", ANY },
    [OPTION_FROM]           = { "from", "TIME", "a time such as 2026-08-22T10:00:00Z, or from "
                                "now such as +5m (units: ms s m h d)", value_is_time, NULL },
    [OPTION_COUNT]          = { "count", "N", "a whole number from 1 to 10000", value_is_limit,
                                NULL },
    [OPTION_SLOT]           = { "slot", "TIME", "a time such as 2026-08-22T10:00:00Z, or now",
                                value_is_slot, NULL },
    [OPTION_TO]             = { "to", "TIME", MOMENT },
    [OPTION_DRY_RUN]        = { "dry-run", NULL, ANY },
    [OPTION_ERROR]          = { "error", "ERROR", "12 digits 0-9 a-f, as `pawl dead` shows them",
                                fingerprint_valid, NULL },
    [OPTION_RATE]           = { "rate", "N/s", "1/s to 500/s", value_is_rate, NULL },
    [OPTION_REASON]         = { "reason", "TEXT", ANY },
    [OPTION_NEW_PAYLOAD]    = { "payload", "JSON", ANY },
    [OPTION_AFTER]          = { "after", "ID", "the id of a job", value_is_id, NULL },
    [OPTION_BATCH_ID]       = { "batch-id", "ID", "the id of a batch", value_is_id, NULL },
    [OPTION_CALLBACK]       = { "callback", "TYPE", ANY },
    [OPTION_OUTPUT]         = { "output", "FILE", ANY },
    [OPTION_CONTENT_TYPE]   = { "content-type", "TYPE", ANY },
    [OPTION_ARTIFACTS]      = { "artifacts", NULL, ANY },
    [OPTION_JOB]            = { "job", "ID", ANY },
    [OPTION_EVENT]          = { "event", "EVENT", ANY },
    [OPTION_SYSTEM]         = { "system", NULL, ANY },
    [OPTION_HEAD]           = { "head", "HASH", "64 digits 0-9 a-f", value_is_hash, NULL },
    [OPTION_SINCE]          = { "since", "TIME", MOMENT },
    [OPTION_AFTER_EVENT]    = { "after-event", "ID", NUMBER },
    [OPTION_COMPACT]        = { "compact", NULL, ANY },
    [OPTION_FROM_STORE]     = { "from", "URL", ANY },
    [OPTION_TO_STORE]       = { "to", "URL", ANY },
};
// clang-format on
_Static_assert(countof(rows) == OPTIONS, "one row per option");

const struct option_row *option_row(enum option option)
{
    return &rows[option];
}

bool usage(const struct cli *cli, struct pawl_error *err, const char *format, ...)
{
    char said[400];
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    return fail(err, PAWL_USAGE, "%s; see `pawl %s%s--help`", said,
                cli->command ? cli->command->name : "", cli->command ? " " : "");
}

static struct str guess_hint(struct cli *cli, const struct guess *guess, const char *dashes)
{
    if (!guess->name)
        return S("");
    return str_format(&cli->arena, " (did you mean %s%s?)", dashes, guess->name);
}

bool command_offers(const struct command *command, enum option option)
{
    for (size_t i = 0; i < command->offer_count; i++)
        if (command->offers[i].option == option)
            return true;
    return false;
}

static bool offers(const struct command *command, enum option option)
{
    return (command && command_offers(command, option)) || option == OPTION_HELP
        || option == OPTION_VERSION;
}

static bool repeats(const struct command *command, enum option option)
{
    return command && command->repeats && strcmp(command->repeats, rows[option].name) == 0;
}

struct str *option_values(struct cli *cli, enum option option, size_t *count)
{
    struct str *values = arena_new(&cli->arena, struct str, cli->typed_count + 1);
    *count = 0;
    for (size_t i = 0; values && i < cli->typed_count; i++)
        if (cli->typed[i].option == option)
            values[(*count)++] = cli->typed[i].value;
    return values;
}

static bool unknown_option(struct cli *cli, struct str name, struct pawl_error *err)
{
    struct guess guess = {0};
    for (unsigned i = 0; i < OPTIONS; i++)
        if (!cli->command || offers(cli->command, (enum option)i))
            guess_try(&guess, name, rows[i].name);
    return usage(cli, err, "unknown option --%.*s%.*s", STR(name),
                 STR(guess_hint(cli, &guess, "--")));
}

bool unknown_command(struct cli *cli, struct str name, struct pawl_error *err)
{
    struct guess guess = {0};
    cli->command = NULL;  // its help would not help
    for (size_t i = 0; command_at(i); i++)
        guess_try(&guess, name, command_at(i)->name);
    return usage(cli, err, "unknown command `%.*s`%.*s", STR(name),
                 STR(guess_hint(cli, &guess, "")));
}

// What is left of the command line.
struct words {
    char **next;
    char **end;
    bool only_words;  // after `--`
};

static bool is_option(struct str word)
{
    return word.n > 1 && word.s[0] == '-';
}

// Two options may have one name: the command's own goes first.
static bool find_option(const struct command *command, struct str name, enum option *option)
{
    bool found = false;
    for (unsigned i = 0; i < OPTIONS; i++) {
        if (!str_eq(name, str_of(rows[i].name)) || (found && !offers(command, (enum option)i)))
            continue;
        *option = (enum option)i;
        found = true;
    }
    return found;
}

static bool take_value(struct cli *cli, enum option option, struct words *words,
                       struct pawl_error *err)
{
    const struct option_row *row = &rows[option];
    struct str next = words->next < words->end ? str_of(*words->next) : S("");
    if (words->next == words->end || str_starts(next, S("--")))
        return usage(cli, err, "--%s needs a value: --%s %s", row->name, row->name, row->value);
    cli->value[option] = next;
    words->next++;
    return true;
}

static bool take_option(struct cli *cli, struct str word, struct words *words,
                        struct pawl_error *err)
{
    enum option option = OPTIONS;
    struct str name, value;
    bool has_value = str_cut((struct str){ word.s + 2, word.n - 2 }, '=', &name, &value);
    if (!find_option(cli->command, name, &option))
        return unknown_option(cli, name, err);
    const struct option_row *row = &rows[option];
    if (has_value && !row->value)
        return usage(cli, err, "--%s takes no value", row->name);
    if (cli->given[option] && row->value && !repeats(cli->command, option))
        return usage(cli, err, "--%s is given twice", row->name);
    cli->given[option] = true;
    cli->value[option] = value;
    if (row->value && !has_value && !take_value(cli, option, words, err))
        return false;
    cli->typed[cli->typed_count++] = (struct typed){ option, cli->value[option] };
    return true;
}

static bool take(struct cli *cli, struct str word, struct words *words, struct pawl_error *err)
{
    if (!utf8_valid(word))
        return usage(cli, err, "an argument is not valid UTF-8: %.*s", STR(word));
    if (words->only_words || !is_option(word)) {
        cli->words[cli->word_count++] = word;
        return true;
    }
    if (str_eq(word, S("--")))
        return words->only_words = true;
    if (!str_starts(word, S("--")))
        return usage(cli, err, "unknown option %.*s", STR(word));
    return take_option(cli, word, words, err);
}

// Whether the word is an option whose value is the next word.
static bool wants_next(struct str word)
{
    enum option option = OPTIONS;
    struct str name = { word.s + 2, word.n - 2 };
    return str_starts(word, S("--")) && find_option(NULL, name, &option) && rows[option].value;
}

// The first word is the command. Asking for help or the version beats whatever else is said.
static struct str look_ahead(struct cli *cli, struct words words)
{
    struct str name = S("");
    while (words.next < words.end) {
        struct str word = str_of(*words.next++);
        if (str_eq(word, S("--")))
            break;
        cli->given[OPTION_JSON] |= str_eq(word, S("--json"));  // also of what is wrong before it
        cli->given[OPTION_HELP] |= str_eq(word, S("--help")) || str_eq(word, S("-h"));
        cli->given[OPTION_VERSION] |= str_eq(word, S("--version")) || str_eq(word, S("-v"));
        if (!is_option(word) && name.n == 0)
            name = word;
        if (wants_next(word) && words.next < words.end && !str_starts(str_of(*words.next), S("--")))
            words.next++;
    }
    cli->given[OPTION_VERSION] |= str_eq(name, S("version"));
    cli->command = command_find(name);
    return name;
}

// The first word is the command, also after `--`.
static bool take_command(struct cli *cli, struct pawl_error *err)
{
    if (cli->word_count == 0)
        return true;
    cli->command = command_find(cli->words[0]);
    if (!cli->command)
        return unknown_command(cli, cli->words[0], err);
    cli->words++;
    cli->word_count--;
    return true;
}

static bool check_option(const struct cli *cli, const struct typed *typed, struct pawl_error *err)
{
    const struct option_row *row = &rows[typed->option];
    bool store_only = cli->command && command_offers(cli->command, OPTION_STORE)
                   && !command_offers(cli->command, OPTION_SERVER);
    if (typed->option == OPTION_SERVER && store_only)
        return usage(cli, err, "%s works on a store itself, not through a server: say --store URL",
                     cli->command->name);
    if (!offers(cli->command, typed->option))
        return usage(cli, err, "%s takes no option --%s",
                     cli->command ? cli->command->name : "pawl without a command", row->name);
    return !row->fits || row->fits(typed->value)
        || usage(cli, err, "--%s must be %s, not `%.*s`", row->name, row->want, STR(typed->value));
}

static bool check_words(const struct cli *cli, struct pawl_error *err)
{
    const struct command *command = cli->command;
    if (!command)
        return true;
    if (cli->word_count < command->words_min)
        return usage(cli, err, "%s needs %s", command->name, command->words);
    if (cli->word_count > command->words_max)
        return usage(cli, err, "%s does not know what to do with `%.*s`", command->name,
                     STR(cli->words[command->words_max]));
    return true;
}

bool cli_parse(struct cli *cli, int argc, char **argv, struct pawl_error *err)
{
    struct words words = { argc > 0 ? argv + 1 : argv, argv + argc, false };
    cli->words = arena_new(&cli->arena, struct str, (size_t)argc + 1);
    cli->typed = arena_new(&cli->arena, struct typed, (size_t)argc + 1);
    if (!cli->words || !cli->typed)
        return fail(err, PAWL_NO_MEMORY, "no memory to read the command line");
    struct str name = look_ahead(cli, words);
    if (cli->given[OPTION_VERSION])
        return true;
    if (cli->given[OPTION_HELP])
        return name.n == 0 || cli->command || unknown_command(cli, name, err);
    while (words.next < words.end)
        if (!take(cli, str_of(*words.next++), &words, err))
            return false;
    if (!take_command(cli, err))
        return false;
    for (size_t i = 0; i < cli->typed_count; i++)
        if (!check_option(cli, &cli->typed[i], err))
            return false;
    return check_words(cli, err);
}
