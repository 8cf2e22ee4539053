// A producer: enqueues jobs with known keys, and asks again whenever it did not hear the answer.
//
//     producer STORE LOG NAME SEED [drain]
//
// Keys are numbered: NAME-1, NAME-2 and so on. A producer that was killed finds in its own log the
// last one that was answered and goes on behind it: what was asked in vain is asked again. With
// `drain` it settles those requests and ends.
#include <string.h>

#include "actor.h"

enum { BATCH_MAX = 4,
       KEYS_MAX = 10000 };

// What the log says: the newest number that was asked for, and the newest that was answered.
struct past {
    int64_t asked, answered;
};

static int64_t number_of(struct str key)
{
    struct str name, digits;
    int64_t number = 0;
    return str_cut(key, '-', &name, &digits) && str_int(digits, &number) ? number : 0;
}

// Calls are numbered from 1 by each process: an answer belongs to the last request of its number.
static struct past read_past(const char *path)
{
    struct past past = {0};
    int64_t asked[KEYS_MAX] = {0};
    char line[LINE_BYTES], number[24], word[24], key[80], end[2];
    FILE *log = fopen(path, "r");
    while (log && fgets(line, sizeof line, log)) {
        int64_t call = 0;
        bool question = sscanf(line, "> %23s %23s %79s %1[.]", number, word, key, end) == 4;
        bool answer = sscanf(line, "< %23s %23s %*s %*s %*s %1[.]", number, word, end) == 3;
        if (line[0] == '!')
            memset(asked, 0, sizeof asked);
        if (!(question || answer) || !str_int(str_of(number), &call) || call >= KEYS_MAX)
            continue;
        if (question)
            asked[call] = number_of(str_of(key));
        if (question && asked[call] > past.asked)
            past.asked = asked[call];
        if (answer && asked[call] > past.answered)
            past.answered = asked[call];
    }
    if (log)
        fclose(log);
    return past;
}

// Several jobs in one transaction: all are stored or none is.
static void enqueue(struct actor *actor, int64_t first, int64_t count)
{
    struct call calls[BATCH_MAX], batch = {0};
    struct job jobs[BATCH_MAX];
    struct str keys[BATCH_MAX];
    bool deduplicated = false;
    for (int64_t i = 0; i < count; i++) {
        long long number = first + i;
        keys[i] = str_format(&actor->arena, "%s-%lld", actor->name, number);
        call_announce(&calls[i], actor, "enqueue", keys[i].s);
    }
    bool done = call_open(&batch, actor);
    for (int64_t i = 0; done && i < count; i++) {
        struct contract contract = contract_numbered(&actor->arena, keys[i], first + i);
        done = job_enqueue(&batch.tx, &contract, &jobs[i], &deduplicated, &batch.err);
    }
    call_must_end(&batch, done);
    for (int64_t i = 0; i < count; i++) {
        calls[i].word = "ok";
        call_answer(&calls[i], &(struct execution){ .job = jobs[i].id });
    }
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    struct actor actor;
    if (argc < 5)
        return 2;
    struct past past = read_past(argv[2]);
    actor_start(&actor, argv);
    bool drain = has_word(argv, "drain");
    for (int64_t next = past.answered + 1; !drain || next <= past.asked;) {
        int64_t count = 1 + (int64_t)(actor_dice(&actor) % BATCH_MAX);
        if (drain)
            count = at_most(count, past.asked - next + 1);
        enqueue(&actor, next, count);
        if (one_in(&actor, 8))
            enqueue(&actor, next, 1);  // a repetition nobody needed
        next += count;
        arena_reset(&actor.arena);
        world_sleep(world_real(), MILLISECONDS(1 + actor_dice(&actor) % 10));
    }
    db_close(actor.db);
    arena_end(&actor.arena);
    return 0;
}
