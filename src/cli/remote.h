// Asking a Pawl server: its refusals become the errors that the engine would have given.
#pragma once

#include "cli/backend.h"
#include "cli/client.h"

// Asks until there is an answer: while the server says that it is full or that we are too fast, a
// few times more, when it says. False only when there was none.
CHECKED bool remote_send(struct cli *cli, const struct request *request, struct reply *reply,
                         struct pawl_error *err);

// The same for an answer that must be good. On true the caller owns reply->body, an object. Every
// problem of the contract goes to cli->problems.
CHECKED bool remote_ask(struct cli *cli, const struct request *request, struct reply *reply,
                        struct pawl_error *err);

bool reply_good(const struct reply *reply);

// What a refusal means, with what to do about it. Answers false.
CHECKED bool reply_refused(struct cli *cli, const struct reply *reply, struct pawl_error *err);

// The code behind its word, or else behind a status.
enum pawl_code code_of(struct str word, int status);

struct str url_encoded(struct arena *arena, struct str text);

// Enqueueing is in remote_enqueue.c.
CHECKED bool remote_enqueue(struct cli *cli, struct batch *batch, struct pawl_error *err);
