// Idempotency keys in generations: whatever generation a key is in, whoever put it there and when,
// it has one job.
//
// Generations are small here, so that a few hundred keys fill many.
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "keys.h"
#include "process.h"
#include "store/key_index.h"
#include "store/names.h"

// ----- one job for each key

TEST_EACH_DB(OPS_4_a_key_is_found_in_whatever_generation_it_is)
{
    enum { KEYS = 200 };
    struct id ids[KEYS];
    few_keys(box);
    make_keys(box, ids, KEYS);
    EXPECT_INT(generations(box), KEYS / FEW);
    must_be_all(box, ids, KEYS);
    box_reopen(box);
    for (int i = KEYS; i-- > 0;)
        must_be(box, i, ids[i]);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), KEYS);
}

TEST_EACH_DB(OPS_4_one_transaction_may_fill_many_generations)
{
    enum { KEYS = 100 };
    struct id ids[KEYS];
    few_keys(box);
    struct tx tx = {0};
    struct pawl_error err = {0};
    bool deduplicated = false;
    box_begin(box, &tx);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < KEYS; i++) {
            struct contract contract = contract_of_key(box, i);
            struct job job;
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
            EXPECT(deduplicated == (round == 1));
            EXPECT(!deduplicated || id_eq(job.id, ids[i]));
            ids[i] = job.id;
        }
    box_commit(&tx);
    EXPECT(generations(box) > KEYS / FEW);
    must_be_all(box, ids, KEYS);
}

// A rollback takes a seal back, and then the generation gets other records: those must be found.
TEST_EACH_DB(OPS_4_a_generation_whose_seal_was_rolled_back_is_not_taken_for_sealed)
{
    few_keys(box);
    struct id ids[100];
    int next = 0;
    for (int round = 0; round < 10; round++) {
        struct tx tx = {0};
        struct pawl_error err = {0};
        struct job job;
        bool deduplicated = false;
        box_begin(box, &tx);
        for (int i = 0; i < 3 * FEW; i++) {
            struct contract contract = contract_of_key(box, 1000 + i);
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
            EXPECT(!deduplicated);
        }
        tx_end(&tx);
        struct db *other = box_second(box, false), *own = box->db;
        for (int i = 0; i < 10; i++, next++) {
            box->db = next % 2 ? other : own;
            ids[next] = must_be_new(box, next).id;
        }
        box->db = own;
        db_close(other);
        must_be_all(box, ids, next);
    }
}

// ----- against a model

enum { CONNECTIONS = 3, MODEL_KEYS = 40, STEPS = 120, SEEDS = 45, PER_TX = 12 };

struct holder {
    struct id id;  // 0: nobody has had the key
    pawl_time created_at;
    bool ended;
};

struct game {
    struct box *box;
    struct db *connections[CONNECTIONS];
    struct holder holders[MODEL_KEYS];
    uint64_t dice;
    int64_t repeats, reuses;
};

static uint64_t roll(struct game *game, uint64_t sides)
{
    uint64_t z = game->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % sides;
}

static void play_enqueue(struct game *game, struct tx *tx)
{
    struct pawl_error err = {0};
    struct job job;
    bool deduplicated = false;
    int key = (int)roll(game, MODEL_KEYS);
    struct holder *holder = &game->holders[key];
    struct contract contract = contract_of_key(game->box, key);
    bool was_used = holder->id.high != 0;
    bool is_free = !was_used || (holder->ended && holder->created_at + DAYS(7) <= tx->now);
    MUST(job_enqueue(tx, &contract, &job, &deduplicated, &err));
    EXPECT(deduplicated == !is_free);
    EXPECT(is_free || id_eq(job.id, holder->id));
    game->repeats += deduplicated;
    game->reuses += was_used && is_free;
    if (is_free)
        *holder = (struct holder){ job.id, tx->now, false };
}

// A part of the transaction that is taken back, or not.
static void play_part(struct game *game, struct tx *tx)
{
    struct pawl_error err = {0};
    struct holder before[MODEL_KEYS];
    for (int i = 0; i < MODEL_KEYS; i++)
        before[i] = game->holders[i];
    MUST(tx_mark(tx, &err));
    for (uint64_t n = roll(game, PER_TX); n > 0; n--)
        play_enqueue(game, tx);
    if (roll(game, 2)) {
        MUST(tx_keep(tx, &err));
        return;
    }
    MUST(tx_take_back(tx, &err));
    for (int i = 0; i < MODEL_KEYS; i++)
        game->holders[i] = before[i];
}

static void play_enqueues(struct game *game, struct tx *tx)
{
    for (uint64_t n = 1 + roll(game, PER_TX); n > 0; n--)
        play_enqueue(game, tx);
    if (roll(game, 3) == 0)
        play_part(game, tx);
    if (roll(game, 3) == 0)
        play_enqueue(game, tx);
}

static void play_ends(struct game *game, struct tx *tx)
{
    struct pawl_error err = {0};
    for (int i = 0; i < MODEL_KEYS; i++) {
        struct holder *holder = &game->holders[i];
        struct job job;
        if (holder->id.high == 0 || holder->ended || roll(game, 3) == 0)
            continue;
        MUST(job_cancel(tx, holder->id, &job, &err));
        holder->ended = true;
    }
}

static void play_sweep(struct game *game, struct tx *tx)
{
    struct pawl_error err = {0};
    struct swept swept;
    for (uint64_t n = 1 + roll(game, 4); n > 0; n--)
        MUST(sweep(tx, 1 + roll(game, 10), &swept, &err));
}

// One transaction of one of the connections, which may be rolled back.
static void play(struct game *game)
{
    static void (*const moves[])(struct game *game, struct tx *tx) = {
        play_enqueues, play_enqueues, play_enqueues, play_enqueues, play_ends, play_sweep,
    };
    struct holder before[MODEL_KEYS];
    struct tx tx = {0};
    for (int i = 0; i < MODEL_KEYS; i++)
        before[i] = game->holders[i];
    struct db **connection = &game->connections[roll(game, CONNECTIONS)];
    game->box->db = *connection;
    box_begin(game->box, &tx);
    for (uint64_t n = 1 + roll(game, 3); n > 0; n--)
        moves[roll(game, countof(moves))](game, &tx);
    if (roll(game, 4)) {
        box_commit(&tx);
        *connection = game->box->db;  // which may have been opened again
        return;
    }
    tx_end(&tx);
    for (int i = 0; i < MODEL_KEYS; i++)
        game->holders[i] = before[i];
}

static void game_run(struct game *game)
{
    struct box *box = game->box;
    game->connections[0] = box->db;
    for (int i = 1; i < CONNECTIONS; i++)
        game->connections[i] = box_second(box, false);
    for (int step = 0; step < STEPS; step++) {
        struct db **one = &game->connections[roll(game, CONNECTIONS)];
        play(game);
        if (roll(game, 10) == 0)
            pass(box, (int64_t)roll(game, DAYS(6)));
        if (roll(game, 20) == 0) {
            db_close(*one);
            *one = box_second(box, false);
        }
    }
    box->db = game->connections[0];
    for (int i = 1; i < CONNECTIONS; i++)
        db_close(game->connections[i]);
}

TEST(OPS_4_connections_that_take_turns_give_one_job_for_each_key)
{
    int64_t repeats = 0, reuses = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct box box;
        box_open(&box);
        box.generation_keys = 1 + (int64_t)(seed % 9);
        box_reopen(&box);
        struct game game = { .box = &box, .dice = seed };
        game_run(&game);
        repeats += game.repeats;
        reuses += game.reuses;
        box_close(&box);
    }
    EXPECT(repeats > 1000 && reuses > 1000);
}

// Real processes: whoever asks first makes the job, and all others get it.
TEST(OPS_4_processes_that_take_turns_give_one_job_for_each_key)
{
    enum { PROCESSES = 3, KEYS = 150 };
    struct scratch scratch = scratch_open();
    struct process puppets[PROCESSES];
    struct game game = { .dice = 1 };
    for (int i = 0; i < PROCESSES; i++)
        puppets[i] = process_start("puppet", scratch_store(&scratch),
                                   (char[]){ 'P', (char)('0' + i), 0 });
    for (int i = 0; i < KEYS; i++) {
        int first = (int)roll(&game, PROCESSES), older = (int)roll(&game, (uint64_t)i + 1);
        char line[40];
        snprintf(line, sizeof line, "enqueue k-%d", i);
        struct str made = str_dup(test_arena(), str_of(process_ask(&puppets[first], line)));
        EXPECT(str_starts(made, S("ok ")));
        for (int p = 0; p < PROCESSES; p++)
            EXPECT(str_eq(str_of(process_ask(&puppets[p], line)), made));
        snprintf(line, sizeof line, "enqueue k-%d", older);
        process_ask(&puppets[first], line);
    }
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM jobs"), KEYS);
    EXPECT(scratch_number(&scratch, "SELECT count(*) FROM idempotency_generations") >= KEYS / 16);
    for (int i = 0; i < PROCESSES; i++)
        process_kill(&puppets[i]);
    scratch_close(&scratch);
}

// ----- keys with one hash

enum { CANDIDATES = 1 << 22, NUMBER_BITS = 22 };

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Two numbers whose keys have the same hash in this store. Of four million, some have.
static void find_pair(struct box *box, int pair[2])
{
    uint64_t *hashes = calloc(CANDIDATES, sizeof *hashes);
    const uint8_t *secret = NULL;
    char text[24];
    EXPECT(hashes != NULL);
    OK(store_secret(tx, &secret, err));
    for (int i = 0; i < CANDIDATES; i++) {
        snprintf(text, sizeof text, "key-%d", i);
        const struct str parts[] = { box->caller.org_id, S(""), str_of(text) };
        uint64_t hash = (uint64_t)key_hash(hash_short(secret, parts, countof(parts)));
        hashes[i] = hash << NUMBER_BITS | (uint64_t)i;
    }
    qsort(hashes, CANDIDATES, sizeof *hashes, ascending);
    size_t at = 1;
    while (at < CANDIDATES && hashes[at - 1] >> NUMBER_BITS != hashes[at] >> NUMBER_BITS)
        at++;
    EXPECT(at < CANDIDATES);
    pair[0] = (int)(hashes[at - 1] % CANDIDATES);
    pair[1] = (int)(hashes[at] % CANDIDATES);
    free(hashes);
}

TEST_EACH_DB(OPS_4_two_keys_with_one_hash_have_a_job_each)
{
    int pair[2];
    find_pair(box, pair);
    struct id first = must_be_new(box, pair[0]).id;
    struct id second = must_be_new(box, pair[1]).id;
    EXPECT(!id_eq(first, second));
    EXPECT_INT(generations(box), 2);  // they cannot be in one
    for (int round = 0; round < 2; round++) {
        must_be(box, pair[0], first);
        must_be(box, pair[1], second);
        box_reopen(box);
    }
    pass(box, DAYS(8));
    end_job(box, first);
    must_be(box, pair[1], second);
    struct id third = must_be_new(box, pair[0]).id;
    must_be(box, pair[0], third);
    must_be(box, pair[1], second);
}
