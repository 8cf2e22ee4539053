// The descendants of this process, as /proc shows them.
#pragma once

// Sends a signal to all of them. Whoever is started meanwhile may be missed: repeat it.
void tree_signal(int signal);
