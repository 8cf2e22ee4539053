// Alerts on their way (OPS-8, OPS-17): written with what they tell, delivered by one process.
//
// A target is somebody to be told, by the name it has in the configuration. Each has its own row of
// every alert, so one that is down holds up no other. Whoever delivers takes a parcel, sends it and
// settles it: a process that dies in between leaves it as it was, and the next one sends it again
// under the same key. A storm becomes one parcel with many alerts, whose rows say that they belong
// together: so it has the same key and the same content on every try.
#pragma once

#include "engine/event.h"

enum { ALERTS_IN_SUMMARY_MAX = 5000,
       ALERTS_KEPT = 1000,             // that are settled, for people who look
       ALERT_ERROR_BYTES_MAX = 256 };

// ----- raising, for operations

// Writes the alert of an event for every target that wants it. `subject` is marked with the kind,
// for those who observe; without targets nothing is written.
CHECKED bool alert_raise(struct tx *tx, struct subject *subject, enum alert_kind kind,
                         struct pawl_error *err);

// ----- targets

struct alert_target {
    struct str name;
    int64_t kinds;  // bits
    int64_t id;     // set by alert_target_put
};

// That a configuration has this target. One that no configuration had for a week is no target.
CHECKED bool alert_target_put(struct tx *tx, struct alert_target *target, struct pawl_error *err);

// Takes a target away, with everything it was to be told.
CHECKED bool alert_target_drop(struct tx *tx, struct str name, struct pawl_error *err);

// ----- delivering

struct parcel {
    int64_t target;
    int64_t first;         // the alert, or the first one of a summary; 0: nothing is due
    bool summary;
    int64_t attempts;      // before this one
    enum alert_kind kind;  // of the first
    struct id job;         // of the first
    pawl_time at;          // when the first was raised
};

struct alert_taking {
    int64_t target;
    struct str owner;      // who asks: other owners are refused until `lease_us` have passed
    int64_t lease_us;
    int64_t allowance;     // messages that may be sent now, at least 1
};

// The next thing to tell. When it is the last that may be told now and more are waiting, all that
// were never tried become a summary. `parcel->first` is 0 when nothing is due, or another process
// delivers.
CHECKED bool alert_take(struct tx *tx, const struct alert_taking *taking, struct parcel *parcel,
                        struct pawl_error *err);

struct alert_outcome {
    bool delivered;
    bool give_up;       // it was the last try
    int64_t delay_us;   // until the next one
    struct str error;   // why it failed
};

// What became of it. Also tidies up: the newest ALERTS_KEPT that are settled are kept.
CHECKED bool alert_settle(struct tx *tx, const struct parcel *parcel,
                          const struct alert_outcome *outcome, struct pawl_error *err);

// When something is due for the target; 0: nothing waits.
CHECKED bool alert_due(struct tx *tx, int64_t target, pawl_time *due, struct pawl_error *err);

// ----- looking

// One alert with what a message needs. No payload.
struct alert {
    int64_t id;
    struct str target;
    enum alert_kind kind;
    struct id job;
    pawl_time at;
    int64_t attempts;
    pawl_time due_at, settled_at;
    bool given_up;
    struct str delivery_error;
    struct str org_id, project_id, job_type, queue, request_id, correlation_id;
    struct str state, failure_type, error_class, message;  // as sanitised when they were stored
    int64_t attempt;
    struct str finish_detail;  // of a commit phase: what its last failure left in the audit trail
};

CHECKED bool alert_load(struct tx *tx, int64_t id, struct alert *alert, struct pawl_error *err);

// The newest alerts; those of a summary come each by itself.
CHECKED bool alert_list(struct tx *tx, int64_t limit, struct alert **alerts, size_t *count,
                        struct pawl_error *err);

// What a summary is about, by what went wrong, the most frequent first.
struct alert_group {
    enum alert_kind kind;
    struct str org_id, job_type, error_kind, fingerprint, pattern;
    int64_t count;
    struct id job;  // one of them
};

enum { ALERT_GROUPS_MAX = 20 };

struct alert_summary {
    struct alert_group groups[ALERT_GROUPS_MAX];
    size_t group_count;
    int64_t count;   // of all alerts in it
    int64_t others;  // of those that are in none of these groups
};

CHECKED bool alert_summarise(struct tx *tx, int64_t first, struct alert_summary *summary,
                             struct pawl_error *err);
