// Fewer and larger writes to SQLite's log.
//
// SQLite writes each page of its log with two small writes. This layer over the default file system
// holds adjacent ones back until the log is synced, so that a commit of a hundred pages is four
// writes and one sync. Nobody can tell the difference: a page of the log is looked at only after
// the commit that wrote it has synced.
#pragma once

// What to pass to sqlite3_open_v2 as the file system of a connection that writes. Needs
// synchronous=FULL, so that every commit syncs the log.
const char *gather_vfs(void);
