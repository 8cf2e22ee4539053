// The server's log: lines go to a descriptor, and never keep anybody waiting.
//
// Whoever writes a line leaves it in a buffer; a thread of the log's own carries the buffer out. A
// reader that stops reading, a disk that is full or a descriptor that is closed cost lines, never
// time: what does not fit is dropped, and a line of event LOG_DROPPED says how many were.
#pragma once

#include "base/error.h"
#include "server/log_line.h"

struct server_log;

struct log_options {
    int fd;                // the caller's; open as long as the log is
    enum log_level level;  // what is below it is not written
    size_t buffer_bytes;   // 0: 256 KiB, and as much again while they are carried out
};

CHECKED bool log_open(struct server_log **log, const struct log_options *options,
                      struct pawl_error *err);

// Carries out what is there, for so long at most, and closes. NULL is fine.
void log_close(struct server_log *log, int64_t wait_us);

void log_set_level(struct server_log *log, enum log_level level);

// From any thread. NULL is fine: nobody wants to know.
//     log_write(log, &(struct log_entry){ .level = LOG_LEVEL_INFO, .event = "HTTP_REQUEST",
//                                         .about.request_id = id,
//                                         .fields = { LOG_INT("status", 200) } });
void log_write(struct server_log *log, const struct log_entry *entry);

// For pawl_options.log, with the log as its context.
void log_of_library(void *log, const struct pawl_log_line *line);
