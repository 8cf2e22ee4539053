// Rehearsals: what a test does once is done before with each of its calls failing in turn.
//
// OK and REFUSED (fixture.h) run an operation in a transaction of its own. With REHEARSALS=n in the
// environment the first n times that a test comes to a place are rehearsed, and of a place in a
// helper the first n times in each test: the operation is played with its first call of the store
// failing, with its second and so on, up to the commit, which fails always; once more with nothing
// remembered from before and what is held back (store/later.h) written at once, so that every name
// is looked up and every row fails where it was asked for; then the same for what it takes from the
// arena of its transaction. Past the first hundred and more it is not each of them, or a batch of
// thousands would take hours. Each play is rolled back.
// Whichever call failed, the operation or its commit has to say so: one that goes on as if nothing
// had happened is found here, and the test fails. In the end it is played for good.
#pragma once

#include "test.h"

struct box;
struct tx;

struct plays {
    struct box *box;
    struct place place;
    enum { REHEARSE_STORE, REHEARSE_AFRESH, REHEARSE_MEMORY, FOR_GOOD } part;
    int64_t n;  // the call that fails
    struct arena arena;  // of a play whose memory fails
    struct later *later; // of the store, while nothing is held back
};

// From here on the n-th of what is taken from any arena fails; rehearsal_calm says whether it was
// come to, and ends that.
void rehearsal_arenas(int64_t n);
bool rehearsal_calm(void);

// How often a place has been come to, in the test that came to it last.
struct times {
    int64_t test, count;
};

struct plays plays_of(struct box *box, struct times *times, struct place place);

// Begins the transaction of the next play; after it, says whether there is one more.
void play_begin(struct plays *p, struct tx *tx, struct pawl_error *err);
bool play_again(struct plays *p, struct tx *tx, bool done, struct pawl_error *err);

// `done` is what the last play answered, in a transaction that is still open. PLAY_EACH rehearses
// every time: in a helper that is called in ever other situations.
#define PLAY(done, call) PLAY_COUNTED(static, done, call)
#define PLAY_EACH(done, call) PLAY_COUNTED(, done, call)
#define PLAY_COUNTED(storage, done, call)                                                     \
    do {                                                                                      \
        storage struct times times_ = {0};                                                    \
        struct plays plays_ = plays_of(box, &times_, PLACE(#call));                           \
        do {                                                                                  \
            play_begin(&plays_, tx, err);                                                     \
            (done) = (call);                                                                  \
        } while (play_again(&plays_, tx, (done), err));                                       \
    } while (0)
