// The parts of `pawl dead` that have a file of their own.
#pragma once

#include "base/json.h"
#include "cli/command.h"

// All of one letter, for people.
void letter_print(struct cli *cli, const json_t *letter);

// What differs between two payloads, a line each; null: the reader may not see it.
void changes_print(struct cli *cli, const json_t *changes);
