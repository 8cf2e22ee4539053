// Which of two models is true, after a commit whose outcome nobody was told.
#pragma once

#include "process.h"

// Looks at the store through this process, which has just opened it: whether it is as the model
// says, and while there is doubt, as the model before or after the transaction says. False: it
// could not be read, or is like none, and then there is a problem.
bool doubt_resolve(struct sim *sim, struct process *process);

// The same through a process that lives, after another one has died. What it does not see it will
// overwrite with its next commit; but if it makes none, the next recovery may find it.
void doubt_resolve_elsewhere(struct sim *sim, struct process *process);
