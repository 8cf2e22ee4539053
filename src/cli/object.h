// Reading the objects of the HTTP API, also those of a server that is not what it says: what is
// missing or of another type reads as empty.
#pragma once

#include "base/json.h"
#include "base/world.h"
#include "model/state.h"

struct str object_text(const json_t *object, const char *field);
int64_t object_number(const json_t *object, const char *field);
bool object_flag(const json_t *object, const char *field);
pawl_time object_time(const json_t *object, const char *field);  // 0: none
const json_t *object_items(const json_t *object, const char *field);  // NULL: it is no list

// Any value as compact JSON; null is empty.
struct str object_value(struct arena *arena, const json_t *object, const char *field);

// The state of a job; false when it is none.
bool object_state(const json_t *job, enum job_state *state);
bool object_ended(const json_t *job);
