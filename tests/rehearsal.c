// The calls that fail are counted and refused by faults.h, and only while a play goes on.
#include "rehearsal.h"

#include "faults.h"
#include "fixture.h"
#include "store/driver.h"
#include "store/later.h"
#include "torture.h"

// Of an operation with more calls, what it does again and again fails less and less often.
enum { ALL_UP_TO = 128 };

static struct {
    struct arena *arena;  // of the play; NULL: no memory fails
    bool any;             // whichever arena
    struct fault_counter faults;
} memory;

void *__real_arena_raw(struct arena *arena, size_t bytes);
void *__real_arena_alloc(struct arena *arena, size_t bytes);
void *__real_arena_array(struct arena *arena, size_t size, size_t count);
void *__wrap_arena_raw(struct arena *arena, size_t bytes);
void *__wrap_arena_alloc(struct arena *arena, size_t bytes);
void *__wrap_arena_array(struct arena *arena, size_t size, size_t count);

static bool none_left(struct arena *arena)
{
    bool none = arena && (memory.any || arena == memory.arena) && faults_hit(&memory.faults);
    if (none)
        arena->failed = true;
    return none;
}

void *__wrap_arena_raw(struct arena *arena, size_t bytes)
{
    return none_left(arena) ? NULL : __real_arena_raw(arena, bytes);
}

void *__wrap_arena_alloc(struct arena *arena, size_t bytes)
{
    return none_left(arena) ? NULL : __real_arena_alloc(arena, bytes);
}

void *__wrap_arena_array(struct arena *arena, size_t size, size_t count)
{
    return none_left(arena) ? NULL : __real_arena_array(arena, size, count);
}

void rehearsal_arenas(int64_t n)
{
    memory.any = true;
    memory.faults = (struct fault_counter){ .fail_at = n };
}

bool rehearsal_calm(void)
{
    bool reached = memory.faults.failed > 0;
    memory.any = false;
    memory.faults = (struct fault_counter){0};
    return reached;
}

// A helper of many tests is come to in another situation by each of them.
static int64_t count_again(struct times *times)
{
    if (times->test != test_number())
        *times = (struct times){ .test = test_number() };
    return times->count++;
}

struct plays plays_of(struct box *box, struct times *times, struct place place)
{
    // What observers are told may be lost: the commit goes on.
    bool rehearses = count_again(times) < torture_asked("REHEARSALS", 0) && !box->db->observers
                  && !box->db->faults && !store_faults_in(box->db);
    return (struct plays){
        .box = box,
        .place = place,
        .part = rehearses ? REHEARSE_STORE : FOR_GOOD,
    };
}

static bool came_to_commit;

// Nothing of a play stays.
static bool refuse_commit(struct db *db, struct pawl_error *err)
{
    (void)db;
    came_to_commit = true;
    return fail(err, PAWL_STORE, "this is a rehearsal");
}

void play_begin(struct plays *p, struct tx *tx, struct pawl_error *err)
{
    p->n += 1 + p->n / ALL_UP_TO;
    struct fault_counter faults = { .fail_at = p->n };
    *err = (struct pawl_error){0};
    if (p->part == REHEARSE_AFRESH)
        db_forget(p->box->db);
    box_begin(p->box, tx);
    if (p->part == FOR_GOOD)
        return;
    store_faults_begin(p->box->db, refuse_commit);
    came_to_commit = false;
    if (p->part == REHEARSE_AFRESH) {
        p->later = p->box->db->later;
        p->box->db->later = later_new(1);
        EXPECT(p->box->db->later != NULL);
    }
    if (p->part != REHEARSE_MEMORY) {
        store_faults = faults;
        return;
    }
    tx->arena = memory.arena = &p->arena;
    memory.faults = faults;
}

// Whether the call that failed was reached; nothing fails from here on.
static bool play_end(struct plays *p, struct tx *tx)
{
    bool failed = store_faults.failed || memory.faults.failed;
    store_faults = memory.faults = (struct fault_counter){0};
    memory.arena = NULL;
    tx_end(tx);
    if (p->later) {
        later_free(p->box->db->later);
        p->box->db->later = p->later;
        p->later = NULL;
    }
    store_faults_end(p->box->db);
    arena_end(&p->arena);
    return failed;
}

static struct torture failing = { .name = "calls that fail" };

static void tell_all(void)
{
    torture_end(&failing);
}

static void judge(const struct plays *p, bool refused, const struct pawl_error *err)
{
    static const char *const calls[] = { "call of the store", "call of the store, afresh",
                                         "allocation" };
    bool told = refused && !came_to_commit && err->code != PAWL_OK && err->message[0];
    if (failing.tried == 0)
        atexit(tell_all);
    torture_count(&failing, told);
    if (told)
        return;
    print_error("with its %s %lld failing: %s\n", calls[p->part], (long long)p->n,
                refused && !came_to_commit ? "nothing was said" : "it went on");
    expect_failed(p->place);
}

bool play_again(struct plays *p, struct tx *tx, bool done, struct pawl_error *err)
{
    if (p->part == FOR_GOOD)
        return false;
    bool refused = !done || !tx_commit(tx, err);
    if (play_end(p, tx)) {
        judge(p, refused, err);
    } else {
        p->part++;
        p->n = 0;
    }
    return true;
}
