// The two state machines: what a job and an execution may become.
//
//   job:        CREATED -> QUEUED -> RUNNING -> SUCCEEDED
//                  |         | ^        |  \--> FAILED, TIMED_OUT
//                  |         | |        v
//                  |         | +---- RETRYING
//                  +---------+----------+-----> FAILED (cancelled, or never started)
//
//   execution:  LEASED -> IN_PROGRESS -> COMMITTED -> DONE
//                  \----------\--> ABORTED
//
// One row of a table per state: its name, what may follow, whether it is final. Nothing else in the
// program knows an edge (JOB-1, EXEC-2).
#pragma once

#include "base/error.h"

enum job_state {
    JOB_CREATED,
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_RETRYING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_TIMED_OUT,
    JOB_STATES
};

enum execution_status {
    EXECUTION_LEASED,
    EXECUTION_IN_PROGRESS,
    EXECUTION_COMMITTED,
    EXECUTION_DONE,
    EXECUTION_ABORTED,
    EXECUTION_STATUSES
};

// Where a job is. The place says the state, so a job has one state because it is in one place.
enum job_phase {
    PHASE_HELD,       // created, not submitted
    PHASE_DELAYED,    // its time has not come
    PHASE_READY,      // the next claim may take it
    PHASE_BLOCKED,    // behind another job of its serial key
    PHASE_LEASED,     // a worker holds it and has not started
    PHASE_RUNNING,    // a worker is at work
    PHASE_FINISHING,  // committed, not yet done
    PHASE_BACKOFF,    // waits for its next attempt
    PHASE_ENDED,
    JOB_PHASES
};

const char *job_state_name(enum job_state state);
const char *job_coarse_state_name(enum job_state state);  // PENDING RUNNING SUCCEEDED FAILED
const char *job_phase_name(enum job_phase phase);
const char *execution_status_name(enum execution_status status);

bool job_state_parse(struct str name, enum job_state *state);
bool job_phase_parse(struct str name, enum job_phase *phase);
bool execution_status_parse(struct str name, enum execution_status *status);

bool job_state_final(enum job_state state);
bool execution_status_final(enum execution_status status);  // DONE, ABORTED
bool execution_status_live(enum execution_status status);   // holds its job: not final

// `cancelled`: the move is a cancellation, which may also end CREATED and RETRYING.
bool job_state_may(enum job_state from, enum job_state to, bool cancelled);
bool execution_status_may(enum execution_status from, enum execution_status to);

// The state of a job that is in this place; for PHASE_ENDED the outcome says which.
enum job_state job_phase_state(enum job_phase phase);
