// pawl doctor, in its parts.
#pragma once

#include "cli/command.h"
#include "engine/health.h"

// The machine and the file, whether or not the store can be opened.
void doctor_machine(struct cli *cli, struct findings *findings);

// What only an open store tells of its file.
void doctor_file(struct cli *cli, struct findings *findings);
