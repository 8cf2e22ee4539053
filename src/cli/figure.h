// A measured figure, for people and for programs.
#pragma once

#include "base/json.h"
#include "bench/bench.h"

struct str figure_text(struct arena *arena, enum figure_kind kind, double value);
json_t *figure_json(enum figure_kind kind, double value);  // whole where parts mean nothing
json_t *tenths_json(double value);
