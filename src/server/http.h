// HTTP: reads requests, hands exchanges to their routes, sends answers. The only place that knows
// the protocol library.
//
// One thread waits for all connections. A request that waits for a commit or for news is suspended:
// it costs memory and no thread. Whoever ends the wait calls http_resume from any thread.
#pragma once

#include "server/exchange.h"

struct http;

// Takes the address: whoever connects waits for http_start. Refuses to listen beyond this machine
// when everybody is admin.
CHECKED bool http_open(struct http **http, struct server *server, bool everybody_is_admin,
                       struct pawl_error *err);

// Answers from now on.
CHECKED bool http_start(struct http *http, struct pawl_error *err);

// Nobody may wait any more: see hub_drain. NULL is fine.
void http_close(struct http *http);

struct str http_address(const struct http *http);  // as it was bound: `127.0.0.1:7319`
bool http_is_loopback(const struct http *http);    // only this machine can reach it

// The exchange waits: on the HTTP thread, before it is given away.
void http_suspend(struct exchange *x);

// The wait is over: the exchange belongs to the HTTP thread again.
void http_resume(struct exchange *x);

// Whether the client of a suspended exchange is still there: a lease for one that has left would
// only run out.
bool http_listens(const struct exchange *x);

// Hands an exchange that is suspended to the commit pipeline.
void http_submit(struct exchange *x);
