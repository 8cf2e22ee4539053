// What the kernel knows of this process.
#pragma once

#include <stdint.h>

struct process_figures {
    int64_t resident_bytes, virtual_bytes;
    double cpu_seconds;  // user and system
    int64_t open_fds, max_fds;
};

// Asks for so many file descriptors, as far as this process may have more; how many it has then.
int64_t process_allow_fds(int64_t wanted);

struct process_figures process_figures(void);  // 0 for what cannot be asked
