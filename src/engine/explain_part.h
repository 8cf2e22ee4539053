// What the parts of explaining share: the facts found so far, and how a cause is told with them.
#pragma once

#include "engine/explain.h"

struct explaining {
    struct tx *tx;
    const struct job *job;
    struct explanation *out;
    int64_t org;   // the caller's; 0: it sees every org
    bool alive;    // some Pawl process is: it sweeps, and takes jobs
    pawl_time since, until;
    struct cause_facts facts;
};

void explain_times(struct explaining *x, pawl_time since, pawl_time until);
void explain_related(struct explaining *x, struct id id);
void explain_error(struct explaining *x);  // the last one of the job, with its class

// The cause; and one that is true besides. Both use the facts as they are now.
void explain_say(struct explaining *x, enum cause cause);
void explain_also(struct explaining *x, enum cause cause);

// `12 jobs`; `12 jobs of your own` for a caller that does not see those of others.
struct str explain_count(const struct explaining *x, int64_t count);

// So many jobs before it were looked at, one more than are counted at most, and so many of them the
// caller may see.
void explain_ahead(struct explaining *x, int64_t seen, int64_t looked_at);

// Whether the queue, or the org's share of it, is paused, with facts about that.
CHECKED bool explain_closed(struct explaining *x, enum cause *cause, bool *closed,
                            struct pawl_error *err);

// Whether a limit, or the pause of its type, keeps it, with facts about that.
CHECKED bool explain_limits(struct explaining *x, enum cause *cause, bool *shut,
                            struct pawl_error *err);

// Of a blocked job: whether it waits for its limit key, and then why.
CHECKED bool explain_limit_key(struct explaining *x, bool *waits, struct pawl_error *err);

// Of a job that is blocked by others: which, and how far they are.
CHECKED bool explain_links(struct explaining *x, struct pawl_error *err);

// By where the job is: waiting, with a worker, ended.
CHECKED bool explain_waiting(struct explaining *x, struct pawl_error *err);
CHECKED bool explain_working(struct explaining *x, struct pawl_error *err);
CHECKED bool explain_ended(struct explaining *x, struct pawl_error *err);
