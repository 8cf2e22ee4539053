// A store of its own for each test, in virtual time.
//
//     TEST_EACH_DB(EXEC_3_a_stalled_worker_is_refused)
//     {
//         must_enqueue(box, "report");
//         struct lease old = must_claim(box, "A");
//         pass(box, SECONDS(31));
//         REFUSED(PAWL_FENCED, execution_commit(tx, &old, &(struct commit){0}, &e, err));
//     }
//
// OK and REFUSED run one operation in one transaction; inside, `tx` and `err` are its own. It may
// be played more than once (rehearsal.h). When the test ends its store must pass `verify`.
#pragma once

#include "answers.h"
#include "test.h"

#include "engine/event.h"
#include "engine/execution.h"
#include "engine/job.h"
#include "engine/step.h"
#include "engine/sweep.h"
#include "engine/verify.h"
#include "outside.h"
#include "rehearsal.h"

struct box {
    struct virtual_world world;
    struct db *db;
    char directory[64];
    struct str url;
    struct caller caller;
    int64_t generation_keys;  // of idempotency keys, from the next opening on; 0: as many as usual
    bool damaged;  // on purpose: do not verify at the end
};

void box_open(struct box *box);
void box_close(struct box *box);
void box_reopen(struct box *box);
void box_as_of(struct box *box, int version);  // its schema as it was then; box_reopen migrates
struct db *box_second(struct box *box, bool read_only);  // another connection; db_close it

#define TEST_EACH_DB(name)                 \
    static void name##_on(struct box *box); \
    TEST(name)                             \
    {                                      \
        struct box box;                    \
        box_open(&box);                    \
        name##_on(&box);                   \
        box_close(&box);                   \
    }                                      \
    static void name##_on(struct box *box)

void box_begin(struct box *box, struct tx *tx);
void box_commit(struct tx *tx);

// Whether the answer to this commit was lost by the environment (answers.h): the box is then open
// again.
bool box_answer_lost(struct box *box, struct tx *tx, const struct pawl_error *err);

// A text that is the same exactly when the contents of the store are.
struct str box_contents(struct box *box);

#define OK(call) OK_PLAYED(PLAY, call)

#define OK_PLAYED(play, call)                                       \
    do {                                                            \
        struct tx tx_ = {0}, *tx = &tx_;                          \
        struct pawl_error err_ = {0}, *err = &err_;               \
        bool done_;                                                 \
        play(done_, call);                                          \
        expect_done(done_, err, PLACE(#call));                      \
        box_commit(tx);                                             \
    } while (0)

// The same of an operation that goes on from `state` and changes it: each play does so from there.
#define OK_FROM(state, call) OK_FROM_PLAYED(PLAY, state, call)
#define OK_FROM_EACH(state, call) OK_FROM_PLAYED(PLAY_EACH, state, call)  // rehearsed every time

#define OK_FROM_PLAYED(play, state, call)                           \
    do {                                                            \
        const __typeof__(state) kept_ = (state);                    \
        OK_PLAYED(play, ((state) = kept_, (call)));                 \
    } while (0)

// The operation is refused with this code, and committing what it did changes nothing.
#define REFUSED(code, call)                                         \
    do {                                                            \
        struct tx tx_ = {0}, *tx = &tx_;                          \
        struct pawl_error err_ = {0}, *err = &err_;               \
        struct str before_ = box_contents(box);                     \
        bool done_;                                                 \
        PLAY(done_, call);                                          \
        expect_refused(done_, (code), err, PLACE(#call));           \
        box_commit(tx);                                             \
        expect(str_eq(box_contents(box), before_), PLACE("a refusal changes nothing: " #call)); \
    } while (0)

void pass(struct box *box, int64_t microseconds);

// A valid contract with policy `default`, payload {} and no key, to be changed at will.
struct contract contract_for(struct box *box, const char *job_type);
struct contract contract_with(struct box *box, const char *job_type, const char *policy);

struct job must_add(struct box *box, const struct contract *contract);
struct job must_enqueue(struct box *box, const char *job_type);
struct job must_load(struct box *box, struct id id);

struct worker worker_named(const char *name);
struct lease must_claim(struct box *box, const char *worker);       // one job, leased
struct lease must_start(struct box *box, const char *worker);       // one job, started
size_t claim_some(struct box *box, const char *worker, size_t limit, struct claimed **claimed);
struct execution must_execution(struct box *box, struct id id);
void must_commit(struct box *box, const struct lease *lease);       // commit and done
void must_fail(struct box *box, const struct lease *lease, enum error_class class);
struct swept must_sweep(struct box *box);

// How many audit events of this kind the job has.
size_t events(struct box *box, struct id job, enum event event);

// One value from a statement on the store, read behind the engine's back; no number is -1.
struct str box_text(struct box *box, const char *sql);
int64_t box_number(struct box *box, const char *sql);
void box_sql(struct box *box, const char *sql);  // writes behind the engine's back
