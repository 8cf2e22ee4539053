// What the tests of explaining share: the question, asked as a reader asks it, and its answer.
#pragma once

#include "engine/explain.h"
#include "fixture.h"

// The answer to the box's caller, from a transaction that only reads.
struct explanation explained(struct box *box, struct id id);

// The cause, and words that must be in its sentence.
void expect_cause(struct explanation e, enum cause cause, const char *words,
                  struct place place);
void expect_also(struct explanation e, enum cause cause, const char *words,
                 struct place place);
bool says_also(const struct explanation *e, enum cause cause);

#define EXPECT_CAUSE(e, cause, words) expect_cause((e), (cause), (words), PLACE(#cause))
#define EXPECT_ALSO(e, cause, words) expect_also((e), (cause), (words), PLACE(#cause))

// A process is alive from now on, for ten seconds.
void alive(struct box *box);

const char *when(pawl_time time);         // as sentences have it
const char *text_of(struct id id);
