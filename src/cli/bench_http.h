// pawl bench --mode http.
#pragma once

#include "bench/http.h"
#include "cli/command.h"

json_t *http_bench_json(const struct http_bench *bench);
void print_http_bench(struct arena *arena, const struct http_bench *bench);
