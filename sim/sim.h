// A deterministic simulation of everything around the engine, in one thread and from one seed.
//
// The engine and SQLite are the real ones. Time, dice, disk, network, processes and everybody who
// asks for something are not: actors (actor.h) send requests (request.h), which travel, get lost or
// arrive twice, to processes (process.h), which run them on the store and on the reference model
// beside it (match.h). The first thing that disagrees ends the run.
//
// A run has two phases. In the first one things go wrong as often as the seed says (swarm.h); in
// the second nothing does, and every job must come to its end.
#pragma once

#include "base/arena.h"
#include "base/world.h"
#include "dice.h"
#include "heap.h"
#include "journal.h"
#include "match.h"
#include "planted.h"
#include "process.h"
#include "swarm.h"

struct actor;

enum { ORGS = 2,
       QUEUES = 3,
       ACTORS_MAX = 48 };

#define SIM_SCHEDULE S("tick")
#define SIM_SLOT_US SECONDS(10)  // from one slot to the next

extern const struct str sim_orgs[ORGS];  // a store gets to know them in this order
extern const struct str sim_queues[QUEUES];
extern const struct caller sim_everybody;

struct sim_options {
    uint64_t seed;
    size_t steps;          // calls of the engine before the calm
    uint64_t without;      // bits of enum fault_rate that are switched off
    enum planted planted;
    bool trace;            // print every event
};

struct sim {
    struct sim_options options;
    struct swarm swarm;
    struct virtual_world world;
    struct heap heap;
    struct journal journal;
    struct arena arena;      // lives as long as the run
    struct match match;
    struct match *before;    // the same before the transaction in hand ...
    struct match *after;     // ... and after it, while it is not known which of them is true
    bool doubt;              // it is not
    struct match *ghost;     // with what a dead process was about to commit when others went on
    bool ghost_possible;     // it may still come to light
    bool harden;             // a sync failed: see db_harden
    uint64_t acknowledged;   // the version of the model that somebody was told about
    int64_t refused;         // calls the disk had refused when the transaction began
    struct str url;
    struct process processes[PROCESSES];
    struct actor *actors[ACTORS_MAX];
    size_t actor_count;
    struct dice network, company;
    size_t steps;            // calls of the engine so far
    size_t boots, deaths;
    bool calm;
    pawl_time calm_since;
    size_t calm_at;          // after so many steps
    size_t checks, check_at;  // of all invariants, and when the next one is
};

// One run. True when nothing disagreed; else `match.problem` says what did.
bool sim_run(struct sim *sim, const struct sim_options *options);
void sim_end(struct sim *sim);  // frees what it holds; the journal and the problem stay

void sim_prepare(void);  // once, before the first run: the disk, and an empty store on it

// ----- for the parts of it

pawl_time sim_now(const struct sim *sim);  // of the run, which no jump of the calendar moves
const char *sim_store(void);               // the path of the store
// Calls `act` of an actor after so long.
void sim_later(struct sim *sim, int64_t us, sim_act *act, void *self, struct request *request);
