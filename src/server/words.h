// Words: what a text may be where only a few are possible, for /openapi.json. They come from the
// tables that the rules themselves are in.
#pragma once

// The word of this number, NULL past the last.
typedef const char *word_at(unsigned number);

word_at words_job_state, words_coarse_state, words_job_phase, words_execution_status;
word_at words_error_class, words_said_class;  // all there are; those that a worker may say
word_at words_error_type, words_end_reason, words_failure_type;
word_at words_actor_type, words_category, words_role, words_event;
word_at words_origin, words_dead_letter, words_lease_phase, words_queue_place;
word_at words_limit_scope;
word_at words_rate_limited;
word_at words_cause;
word_at words_schedule_source, words_run_status, words_skip_reason, words_clock_change;
