// A puppet: does one thing per line it is told and says how it went, so that a test can stop or
// kill it between any two calls.
//
//     puppet STORE NAME [WAL_BYTES_MAX [BUSY_MS]]
//
//     > enqueue a-1        < ok JOB
//     > claim [SECONDS]    < ok JOB ATTEMPT   or   none
//     > commit             < ok   or   lease_lost        (and the other words of hand.h)
#include <string.h>

#include "hand.h"

enum { ANSWER_BYTES = 160 };

struct puppet {
    struct actor actor;
    struct held held;  // what it claimed last
    char answer[ANSWER_BYTES];
};

static void PRINTF(2, 3) say(struct puppet *puppet, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(puppet->answer, sizeof puppet->answer, format, arguments);
    va_end(arguments);
}

// Stores one job. A store that has no room or no time is an answer here.
static const char *enqueue(struct puppet *puppet, const struct contract *contract, struct job *job)
{
    struct actor *actor = &puppet->actor;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    bool deduplicated = false;
    bool done = tx_begin(actor->db, TX_WRITE, &actor->arena, &tx, &err)
             && job_enqueue(&tx, contract, job, &deduplicated, &err) && tx_commit(&tx, &err);
    return done ? "ok" : pawl_code(err.code)->word;
}

static void do_enqueue(struct puppet *puppet, struct str key)
{
    struct job job = {0};
    char id[ID_TEXT + 1] = "-";
    struct contract contract = contract_numbered(&puppet->actor.arena, key, 1);
    const char *word = enqueue(puppet, &contract, &job);
    if (job.id.high)
        id_format(job.id, id);
    say(puppet, "%s %s", word, id);
}

static void do_enqueue_serial(struct puppet *puppet, struct str serial_key)
{
    struct job job = {0};
    struct contract contract = contract_numbered(&puppet->actor.arena, S(""), 1);
    contract.serial_key = serial_key;
    say(puppet, "%s", enqueue(puppet, &contract, &job));
}

// Stores `number` jobs of 100 kB, each in its own transaction, or as many as there is room for.
static void do_flood(struct puppet *puppet, struct str number)
{
    enum { BYTES = 100000 };
    char *payload = arena_alloc(&puppet->actor.arena, BYTES + 16);
    int64_t wanted = 0, stored = 0;
    const char *word = "ok";
    int length = snprintf(payload, BYTES + 16, "{\"x\":\"%0*d\"}", BYTES, 0);
    struct contract contract = contract_numbered(&puppet->actor.arena, S(""), 1);
    contract.payload = (struct str){ payload, (size_t)length };
    if (!str_int(number, &wanted))
        wanted = 1;
    for (; stored < wanted && strcmp(word, "ok") == 0; stored += strcmp(word, "ok") == 0) {
        struct job job;
        word = enqueue(puppet, &contract, &job);
    }
    say(puppet, "%s %lld", word, (long long)stored);
}

static void claim(struct puppet *puppet, struct str seconds, bool start)
{
    char job[ID_TEXT + 1];
    struct held *held = &puppet->held;
    int64_t lease_s = 0;
    puppet->actor.lease_us = str_int(seconds, &lease_s) ? SECONDS(lease_s) : 0;
    if (hand_claim(&puppet->actor, held, 1, start) == 0) {
        say(puppet, "none");
        return;
    }
    id_format(held->execution.job, job);
    say(puppet, "ok %s %lld", job, (long long)held->execution.attempt);
}

static void do_claim(struct puppet *puppet, struct str seconds)
{
    claim(puppet, seconds, false);
}

static void do_claim_start(struct puppet *puppet, struct str seconds)
{
    claim(puppet, seconds, true);
}

static void do_sweep(struct puppet *puppet, struct str rest)
{
    (void)rest;
    struct swept swept = sweep_once(&puppet->actor);
    say(puppet, "ok %zu %zu %zu", swept.expired, swept.finished, swept.due);
}

static void do_boot(struct puppet *puppet, struct str rest)
{
    (void)rest;
    struct recovered recovered = boot_once(&puppet->actor);
    say(puppet, "ok %zu %zu", recovered.ended, recovered.finished);
}

#define HELD_EFFECT "INSERT INTO effects VALUES ('held', 0, 'nobody', 0)"

// Stays inside a write transaction, with an effect written, until it is told the next line.
static void do_hold(struct puppet *puppet, struct str rest)
{
    (void)rest;
    char line[LINE_BYTES];
    struct call call;
    bool done = call_begin(&call, &puppet->actor, "hold", "-")
             && tx_execute(&call.tx, HELD_EFFECT, &call.err);
    puts("holding");
    done = fgets(line, sizeof line, stdin) && done;
    call_must_end(&call, done);
    say(puppet, "ok");
}

static const struct {
    const char *word;
    void (*obey)(struct puppet *puppet, struct str rest);
} commands[] = {
    { "enqueue", do_enqueue },
    { "enqueue_serial", do_enqueue_serial },
    { "flood", do_flood },
    { "claim", do_claim },
    { "claim_start", do_claim_start },
    { "sweep", do_sweep },
    { "boot", do_boot },
    { "hold", do_hold },
};

static void obey(struct puppet *puppet, struct str line)
{
    struct str word, rest;
    struct pawl_error err = {0};
    str_cut(line, ' ', &word, &rest);
    say(puppet, "unknown");
    for (size_t i = 0; i < countof(commands); i++)
        if (str_eq(word, str_of(commands[i].word)))
            commands[i].obey(puppet, rest);
    const struct act *known = act_named(word);
    if (known) {
        bool done = act(&puppet->actor, &puppet->held, known->word, &err);
        say(puppet, "%s", done ? "ok" : pawl_code(err.code)->word);
    }
    puts(puppet->answer);
}

int main(int argc, char **argv)
{
    struct puppet puppet = { .actor = { .log = -1 } };
    char line[LINE_BYTES];
    int64_t wal_bytes_max = 0, busy_ms = 0;
    if (argc < 3 || (argc > 3 && !str_int(str_of(argv[3]), &wal_bytes_max))
        || (argc > 4 && !str_int(str_of(argv[4]), &busy_ms)))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puppet.actor.name = argv[2];
    actor_open(&puppet.actor, &(struct db_options){ .url = str_of(argv[1]),
                                                    .wal_bytes_max = wal_bytes_max,
                                                    .generation_keys = ACTOR_GENERATION_KEYS,
                                                    .busy_us = MILLISECONDS(busy_ms) });
    while (fgets(line, sizeof line, stdin)) {
        obey(&puppet, (struct str){ line, strcspn(line, "\n") });
        arena_reset(&puppet.actor.arena);
    }
    db_close(puppet.actor.db);
    arena_end(&puppet.actor.arena);
    return 0;
}
