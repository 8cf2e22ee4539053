// Whoever asks something of the engine: a small state machine with dice of its own, which is told
// when an answer comes and when a time is over.
#pragma once

#include "request.h"
#include "sim.h"

struct actor {
    char name[24];
    struct dice dice;
    uint64_t sent;      // requests so far
    uint64_t awaiting;  // the number of the request whose answer it waits for; 0: none
    void (*hear)(struct sim *sim, struct actor *actor, const struct request *answer);
    void (*died)(struct sim *sim, struct actor *actor, int process);  // NULL: it does not care
};

// Makes all actors of a run. A row in actor.c for each kind.
void actors_make(struct sim *sim);

// For the kinds of them.
typedef void actor_kind(struct sim *sim);
actor_kind clients_make, workers_make, sweepers_make, operators_make,
    schedulers_make, chaos_make;

// `actor` has been allocated by whoever makes it.
void actor_add(struct sim *sim, struct actor *actor, const char *kind, size_t number);
// Begins to wait for the answer.
void actor_ask(struct sim *sim, struct actor *actor, struct request *request);
int actor_process(struct sim *sim, struct actor *actor);  // one that runs, or was to run

void workers_wake(struct sim *sim);  // those that sleep until there is something to do

// A job to be asked for: of any kind that the seed has.
struct contract sim_contract(struct sim *sim, struct dice *dice, struct str org);
