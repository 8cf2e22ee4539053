// The hub: where exchanges wait for news without a thread.
//
// A topic is something to wait for: jobs of some types in some queues (a lane), the end of a job,
// or events for a stream. Each counts its news. Whoever waits first enters the topic, notes its
// count (hub_looks), looks, and only then waits: news in between is noticed, never lost. A lane
// wakes one exchange per piece of news, since one job is for one worker; the others wake all.
//
// News of this process comes with each commit (hub_observe, on the writer's thread). What other
// processes commit is noticed by a look at the store's change counter, ten times a second while
// somebody waits.
#pragma once

#include "server/exchange.h"
#include "store/observe.h"

struct hub;

CHECKED bool hub_open(struct hub **hub, struct server *server, struct pawl_error *err);

// Wakes everybody for good: from now on nobody waits, and the hub does not look into the store.
void hub_drain(struct hub *hub);
void hub_close(struct hub *hub);  // after hub_drain; NULL is fine

// Enters a topic. PAWL_NO_MEMORY when it cannot be made.
CHECKED bool hub_enter_lane(struct exchange *x, const struct texts *queues,
                            const struct texts *job_types, struct pawl_error *err);
CHECKED bool hub_enter_job(struct exchange *x, struct id job, struct pawl_error *err);
CHECKED bool hub_enter_feed(struct exchange *x, struct pawl_error *err);
void hub_leave(struct exchange *x);

void hub_looks(struct exchange *x);      // notes the count, if it has entered a topic
bool hub_time_over(struct exchange *x);  // it does not wait, or not any longer

// Gives the exchange to the hub until there is news or its time is over; then, or at once if that
// has happened since hub_looks, x->wake is called, on any thread.
void hub_wait(struct exchange *x);

// An exchange was woken and does not look: what it was told, if it was news of a lane, is for the
// next that waits there. That one is answered, as woken by hub_wait; NULL: nobody.
struct exchange *hub_pass_on(struct exchange *x);

// A worker of this lane got all it asked for: the next may find more.
void hub_lane_goes_on(struct exchange *x);

// A limit that keeps a worker of a lane waiting opens at this time of the monotonic clock: every
// lane looks then, or within a tenth of a second.
void hub_look_at(struct hub *hub, int64_t monotonic);

// ----- news, from any thread

// What a commit of this process did.
void hub_observe(struct hub *hub, const struct observed *observed);

void hub_ready(struct hub *hub, struct str org_id, struct str queue, struct str job_type);
void hub_ready_all(struct hub *hub);               // somewhere: every lane looks
void hub_ended(struct hub *hub, struct id job);
void hub_happened(struct hub *hub);                // there are new events

size_t hub_waiting(struct hub *hub);
