// What people are shown as JSON, when there is no memory for all of it: the whole, or nothing.
#include <stdlib.h>

#include "base/json.h"
#include "engine/api_key.h"
#include "engine/artifact.h"
#include "engine/explain.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/schedule.h"
#include "engine/workers.h"
#include "fixture.h"
#include "model/contract.h"
#include "model/key_recipe.h"
#include "model/payload_diff.h"

static const struct str project = { "00000000-0000-7000-8000-0000000000a1", 36 };

static json_t *of_key(struct arena *arena)
{
    const struct str projects[] = { project, project };
    struct key key = { .key_id = S("id"), .projects = projects, .project_count = 2 };
    return key_json(arena, &key);
}

static json_t *of_explanation(struct arena *arena)
{
    struct reason reason = { .sentence = S("because"), .advice = S("wait") };
    struct explanation e = { .why = reason, .also = { reason, reason }, .also_count = 2 };
    e.ahead_more = true;
    return explanation_json(arena, &e);
}

static json_t *of_queue(struct arena *arena)
{
    struct queue_view view = { .name = S("q:default"), .limit = { .max_running = 3 } };
    return queue_json(arena, &view);
}

static json_t *of_schedule(struct arena *arena)
{
    struct schedule_view view = { .schedule = { .name = S("nightly"), .payload = S("{\"a\":1}") } };
    return schedule_json(arena, &view);
}

static json_t *of_run(struct arena *arena)
{
    struct run_row run = { .job_name = S("nightly"), .job_id = { 1, 2 } };
    return run_json(arena, &run);
}

static json_t *of_skip(struct arena *arena)
{
    struct skip_row skip = { .job_name = S("nightly"), .slots = 4 };
    return skip_json(arena, &skip);
}

static json_t *of_limit(struct arena *arena)
{
    struct limit_row row = { .name = S("mail"), .limit = { .max_running = 3 } };
    return limit_json(arena, &row, &(struct limit_use){ .running = 2 });
}

static json_t *of_artifact(struct arena *arena)
{
    struct artifact artifact = { .name = S("a.txt"), .content_type = S("text/plain") };
    return artifact_json(arena, &artifact);
}

static json_t *of_diff(struct arena *arena)
{
    SCOPED(json) json_t *before = json_pack("{s:i, s:s}", "a", 1, "b", "old");
    SCOPED(json) json_t *after = json_pack("{s:i, s:s}", "a", 2, "b", "new");
    return payload_diff(arena, before, after);
}

static json_t *(*const makers[])(struct arena *arena) = {
    of_key, of_explanation, of_queue, of_schedule, of_run, of_skip, of_limit, of_artifact, of_diff,
};

static int allocations_left;

static void *malloc_until_none_left(size_t bytes)
{
    return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

// How many allocations it takes.
static int make_until_whole(json_t *(*make)(struct arena *arena), const json_t *whole)
{
    bool made = false;
    int tries = 0;
    for (; !made; tries++) {
        SCOPED(arena) struct arena arena = {0};
        allocations_left = tries;
        json_set_alloc_funcs(malloc_until_none_left, free);
        SCOPED(json) json_t *value = make(&arena);
        made = value != NULL;
        json_set_alloc_funcs(malloc, free);
        EXPECT(!made || json_equal(value, whole));
    }
    return tries;
}

TEST(OPS_9_json_for_which_there_is_no_memory_is_none_and_never_half_of_it)
{
    for (size_t i = 0; i < countof(makers); i++) {
        SCOPED(json) json_t *whole = makers[i](test_arena());
        EXPECT(whole != NULL);
        EXPECT(make_until_whole(makers[i], whole) > 5);
    }
}

TEST(OPS_9_json_for_whose_texts_there_is_no_memory_is_none_or_the_arena_knows)
{
    for (size_t i = 0; i < countof(makers); i++) {
        SCOPED(json) json_t *whole = makers[i](test_arena());
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            SCOPED(arena) struct arena arena = {0};
            rehearsal_arenas(n);
            SCOPED(json) json_t *value = makers[i](&arena);
            reached = rehearsal_calm();
            EXPECT(!value || arena.failed || json_equal(value, whole));
        }
    }
}

static struct str hash_of(struct arena *arena)
{
    struct contract contract = { .job_type = S("report"), .payload = S("{\"a\":1}") };
    return contract_hash(arena, &contract);
}

static struct str key_of(struct arena *arena)
{
    static const struct str fields[] = { { "a", 1 } };
    struct recipe recipe = { .kind = RECIPE_FIELDS, .fields = fields, .field_count = 1 };
    struct contract contract = { .job_type = S("report") };
    SCOPED(json) json_t *payload = json_pack("{s:i}", "a", 1);
    return recipe_key(arena, &recipe, &contract, payload, 1);
}

TEST(OPS_4_a_hash_for_which_there_is_no_memory_is_none_and_is_not_stored)
{
    static struct str (*const hashes[])(struct arena * arena) = { hash_of, key_of };
    for (size_t i = 0; i < countof(hashes); i++) {
        struct str whole = hashes[i](test_arena());
        bool made = false;
        for (int tries = 0; !made; tries++) {
            SCOPED(arena) struct arena arena = {0};
            allocations_left = tries;
            json_set_alloc_funcs(malloc_until_none_left, free);
            struct str hash = hashes[i](&arena);
            json_set_alloc_funcs(malloc, free);
            made = !arena.failed;
            EXPECT(made ? str_eq(hash, whole) : !str_eq(hash, whole));
        }
    }
}

TEST(OPS_4_a_hash_for_whose_texts_there_is_no_memory_is_none_and_is_not_stored)
{
    static struct str (*const hashes[])(struct arena * arena) = { hash_of, key_of };
    for (size_t i = 0; i < countof(hashes); i++) {
        struct str whole = hashes[i](test_arena());
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            SCOPED(arena) struct arena arena = {0};
            rehearsal_arenas(n);
            struct str hash = hashes[i](&arena);
            reached = rehearsal_calm();
            EXPECT(reached ? arena.failed : str_eq(hash, whole));
        }
    }
}

// What became other than it was is told in the trail, or nothing becomes other.
TEST_EACH_DB(OPS_9_a_change_for_whose_event_there_is_no_memory_is_not_made)
{
    struct job job = must_enqueue(box, "report"), after;
    struct job_change change = {
        .has_priority = true,
        .priority = 7,
        .has_queue = true,
        .queue = S("q:exports"),
    };
    bool changed = false;
    int tries = 0;
    for (; !changed; tries++) {
        struct pawl_error err = {0};
        SCOPED(arena) struct arena arena = {0};
        SCOPED(tx) struct tx tx = {0};
        box_begin(box, &tx);
        tx.arena = &arena;
        allocations_left = tries;
        json_set_alloc_funcs(malloc_until_none_left, free);
        changed = job_change(&tx, job.id, &change, &after, &err) && tx_commit(&tx, &err);
        json_set_alloc_funcs(malloc, free);
        EXPECT(changed || err.code == PAWL_NO_MEMORY);
    }
    EXPECT(tries > 3);
    EXPECT_STR(box_text(box, "SELECT detail FROM audit_events ORDER BY id DESC LIMIT 1"),
               "{\"queue\":[\"q:default\",\"q:exports\"],\"priority\":[0,7]}");
}
