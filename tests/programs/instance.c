// An instance: takes its name, and then boots, works and waits for the bell as it is told, so that
// a test can kill it between any two steps.
//
//     instance STORE NAME         < ok, or `conflict` and the end
//
//     > boot                      < ok ENDED FINISHED DAMAGED
//     > boot 2                    < halfway       after so many transactions; the next line goes on
//     > enqueue document          < ok            a job of this policy
//     > delayed, rolled_back      < ok            one that is not ready, one that is taken back
//     > start, start_remote       < ok or none    a run of this instance, or of none
//     > fill 250                  < ok 250        so many jobs, all started
//     > wait 0                    < rung or quiet within so many milliseconds
//     > commit                    < ok or lease_lost   (and the other words of hand.h)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hand.h"
#include "run/boot.h"
#include "store/bell.h"
#include "store/hold.h"

enum { ANSWER_BYTES = 160 };

struct self {
    struct actor actor;
    struct held held;  // what it started last
    struct hold hold;
    struct bell *bell;
    struct pipeline *pipeline;
    struct instance instance;
    struct arena names;
    char answer[ANSWER_BYTES];
};

static void PRINTF(2, 3) say(struct self *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->answer, sizeof self->answer, format, arguments);
    va_end(arguments);
}

// ----- boot

// Asked before each commit: the one after `rounds` others waits for a line.
static struct operation *pause_halfway(void *rounds, struct tx *tx)
{
    char line[LINE_BYTES];
    (void)tx;
    if ((*(int64_t *)rounds)-- != 0)
        return NULL;
    puts("halfway");
    if (!fgets(line, sizeof line, stdin))
        exit(0);
    return NULL;
}

static void do_boot(struct self *self, struct str rest)
{
    int64_t rounds = -1;
    struct recovered total;
    struct pawl_error err = {0};
    if (rest.n && !str_int(rest, &rounds))
        exit(2);
    pipeline_set_more(self->pipeline, pause_halfway, &rounds);
    bool done = boot_enter(self->pipeline, &self->instance, true, &total, &err);
    pipeline_set_more(self->pipeline, NULL, NULL);
    if (done)
        say(self, "ok %zu %zu %zu", total.ended, total.finished, total.damaged);
    else
        say(self, "%s", pawl_code(err.code)->word);
}

// ----- work

static struct contract contract_of(struct self *self, struct str policy)
{
    struct contract contract = contract_numbered(&self->actor.arena, S(""), 1);
    const struct policy *terms = policy_builtin(policy);
    if (terms)
        contract.policy = *terms;
    return contract;
}

static bool store(struct call *call, const struct contract *contract)
{
    struct job job;
    bool deduplicated = false;
    return job_enqueue(&call->tx, contract, &job, &deduplicated, &call->err);
}

static void enqueue(struct self *self, const struct contract *contract)
{
    struct call call;
    bool done = call_begin(&call, &self->actor, "enqueue", "-") && store(&call, contract);
    call_must_end(&call, done);
    say(self, "ok");
}

static void do_enqueue(struct self *self, struct str policy)
{
    struct contract contract = contract_of(self, policy);
    enqueue(self, &contract);
}

static void do_delayed(struct self *self, struct str rest)
{
    struct contract contract = contract_of(self, rest);
    contract.scheduled_for = world_wall(world_real()) + HOURS(1);
    enqueue(self, &contract);
}

static void do_rolled_back(struct self *self, struct str rest)
{
    struct call call;
    struct contract contract = contract_of(self, rest);
    bool done = call_begin(&call, &self->actor, "enqueue", "-") && store(&call, &contract);
    tx_end(&call.tx);
    say(self, "%s", done ? "ok" : "failed");
}

static void do_start(struct self *self, struct str rest)
{
    (void)rest;
    say(self, hand_claim(&self->actor, &self->held, 1, true) ? "ok" : "none");
}

static void do_start_remote(struct self *self, struct str rest)
{
    self->actor.worker.instance = self->actor.worker.boot_id = S("");
    do_start(self, rest);
}

static void do_fill(struct self *self, struct str number)
{
    int64_t wanted = 0;
    size_t count = 0;
    struct call call;
    struct claimed *claimed = NULL;
    struct str queue = ACTOR_QUEUE;
    struct contract contract = contract_of(self, S("document"));
    if (!str_int(number, &wanted))
        exit(2);
    bool done = call_begin(&call, &self->actor, "fill", "-");
    for (int64_t i = 0; done && i < wanted; i++)
        done = store(&call, &contract);
    struct claim claim = {
        .worker = self->actor.worker,
        .queues = &queue,
        .queue_count = 1,
        .limit = (size_t)wanted,
        .start = true,
    };
    done = done && execution_claim(&call.tx, &claim, &claimed, &count, &call.err);
    call_must_end(&call, done);
    say(self, "ok %zu", count);
}

static void do_wait(struct self *self, struct str number)
{
    int64_t milliseconds = 0;
    if (!str_int(number, &milliseconds))
        exit(2);
    say(self, bell_wait(self->bell, MILLISECONDS(milliseconds)) ? "rung" : "quiet");
}

static const struct {
    const char *word;
    void (*obey)(struct self *self, struct str rest);
} commands[] = {
    { "boot", do_boot },
    { "enqueue", do_enqueue },
    { "delayed", do_delayed },
    { "rolled_back", do_rolled_back },
    { "start", do_start },
    { "start_remote", do_start_remote },
    { "fill", do_fill },
    { "wait", do_wait },
};

static void obey(struct self *self, struct str line)
{
    struct str word, rest;
    struct pawl_error err = {0};
    str_cut(line, ' ', &word, &rest);
    say(self, "unknown");
    const struct act *known = act_named(word);
    if (known && self->held.execution.id.high) {
        bool done = act(&self->actor, &self->held, known->word, &err);
        say(self, "%s", done ? "ok" : pawl_code(err.code)->word);
    }
    for (size_t i = 0; i < countof(commands); i++)
        if (str_eq(word, str_of(commands[i].word)))
            commands[i].obey(self, rest);
    puts(self->answer);
}

static void open_all(struct self *self, struct str url)
{
    struct pawl_error err = {0};
    struct db_options db = { .url = url, .listen = true };
    if (!bell_open(&self->bell, url, &err))
        actor_give_up(&self->actor, "the bell", &err);
    db.bell = self->bell;
    actor_open(&self->actor, &db);
    if (!pipeline_open(&self->pipeline,
                       &(struct pipeline_options){ .db = { .url = url }, .by_hand = true }, &err))
        actor_give_up(&self->actor, "the pipeline", &err);
    bell_wait(self->bell, 0);  // a new store sets its reserve aside, and that rings
    self->instance = (struct instance){ str_of(self->actor.name),
                                        boot_id_new(world_real(), &self->names) };
    self->actor.worker.boot_id = self->instance.boot_id;
}

int main(int argc, char **argv)
{
    struct self self = { .actor = { .log = -1 } };
    struct pawl_error err = {0};
    char line[LINE_BYTES];
    if (argc != 3)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    self.actor.name = argv[2];
    if (!hold_take(&self.hold, str_of(argv[1]), str_of(argv[2]), &err)) {
        puts(pawl_code(err.code)->word);
        return 0;
    }
    open_all(&self, str_of(argv[1]));
    puts("ok");
    while (fgets(line, sizeof line, stdin)) {
        obey(&self, (struct str){ line, strcspn(line, "\n") });
        arena_reset(&self.actor.arena);
    }
    pipeline_close(self.pipeline);
    db_close(self.actor.db);
    bell_close(self.bell);
    hold_give(&self.hold);
    arena_end(&self.actor.arena);
    arena_end(&self.names);
    return 0;
}
