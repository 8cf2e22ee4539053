// The parts of the table of scenarios (scenarios.c) that are in a file of their own.
#pragma once

#include "script.h"

// Deeds that other scenarios build on. The job or lease is in the notes of the script.
CHECKED bool script_add(struct script *s, struct tx *tx, const struct contract *contract,
                        struct pawl_error *err);
script_deed deed_enqueue, deed_enqueue_large, deed_enqueue_many;
script_deed deed_commit_done;     // of lease 0
script_deed deed_cancel_waiting;  // job 1 of prepare_changeable
CHECKED bool script_take(struct script *s, struct pawl_error *err);  // lease 0, started

void prepare_two_jobs(struct script *s);
void prepare_changeable(struct script *s);  // job 1 waits, 2 runs, 3 is a dead letter

typedef bool script_play(struct script *s, struct pawl_error *err);
script_play play_enqueue, play_enqueue_many, play_work, play_fail, play_steps, play_cancel,
    play_retry, play_clear_up, play_queues, play_api_keys;
