// A session with a database server that is there to hear of news, and nothing else: what other
// processes of the store tell after a commit (bell.h).
//
// It is opened at once and then kept open: one that is lost is opened again without waiting for it,
// a step whenever its socket has something, and less and less often while the server is away.
#pragma once

#include <poll.h>

#include "store/bell.h"

struct server_bell;

// `name` is what this process calls itself: what it tells itself is not heard.
CHECKED bool server_bell_open(struct server_bell **bell, struct str store_url, const char *name,
                              struct pawl_error *err);
void server_bell_close(struct server_bell *bell);  // NULL is fine
bool server_bell_hears(const struct server_bell *bell);

// What to wait for, and until when at the latest, by the monotonic clock.
struct pollfd server_bell_poll(const struct server_bell *bell, int64_t *until);

// Whether jobs came in SQL, or may have, since this was asked last (engine/posted.h).
bool server_bell_posted(struct server_bell *bell);

// Goes on with whatever has come. True when there may be news: somebody told, or nobody could have
// been heard for a while.
bool server_bell_look(struct server_bell *bell, int64_t now);
