// What a program asks for, as the engine takes it.
#pragma once

#include "model/contract.h"

struct pawl;

// Turns the public struct into a checked contract; each problem is added under its field, with
// `prefix` before it. Texts live in `problems->arena`. True when there was no problem.
CHECKED bool request_contract(struct pawl *pawl, const struct pawl_job *job, const char *prefix,
                              struct contract *contract, struct problems *problems);

CHECKED bool request_id(const char *text, struct id *id, struct pawl_error *err);
