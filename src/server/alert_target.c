// A webhook is one POST; a command gets the same JSON on its standard input.
#include "server/alert_target.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "server/alert_command.h"
#include "server/outbound.h"

enum { REPLY_BYTES_MAX = 4096, OWN_HEADERS = 2 };

struct alert_teller {
    const struct config_alert *target;
    const _Atomic bool *stop;
    struct outbound *outbound;  // NULL: a command
};

bool teller_open(struct alert_teller **opened, const struct config_alert *target,
                 const _Atomic bool *stop, struct pawl_error *err)
{
    struct alert_teller *teller = *opened = calloc(1, sizeof *teller);
    if (!teller)
        return fail(err, PAWL_NO_MEMORY, "no memory for the target of alerts");
    teller->target = target;
    teller->stop = stop;
    struct outbound_options options = {
        .url = target->webhook,
        .headers = target->headers,
        .timeout_us = target->timeout_us,
        .reply_bytes_max = REPLY_BYTES_MAX,
        .stop = stop,
    };
    return target->command || outbound_open(&teller->outbound, &options, err);
}

void teller_close(struct alert_teller *teller)
{
    if (teller)
        outbound_close(teller->outbound);
    free(teller);
}

static void post(struct alert_teller *teller, const struct telling *telling, struct told *told)
{
    SCOPED(arena) struct arena arena = {0};
    char digits[HASH_DIGITS + 1];
    struct str secret = teller->target->secret;
    const char *headers[OWN_HEADERS + 1] = {
        str_format(&arena, "Idempotency-Key: %.*s", STR(telling->key)).s,
    };
    if (secret.n) {
        hash_sign(secret, telling->body, digits);
        headers[1] = str_format(&arena, "X-Pawl-Signature: sha256=%s", digits).s;
    }
    struct outbound_message message = { .body = telling->body, .headers = headers };
    struct outbound_reply reply = {0};
    struct pawl_error err = {0};
    bool answered = arena.failed ? fail(&err, PAWL_NO_MEMORY, "no memory for a message")
                                 : outbound_post(teller->outbound, &message, &arena, &reply, &err);
    told->delivered = answered && reply.status >= 200 && reply.status < 300;
    told->asked_us = reply.retry_after_us;
    if (answered)
        snprintf(told->detail, sizeof told->detail, "status %d", reply.status);
    else
        snprintf(told->detail, sizeof told->detail, "%.*s", TOLD_BYTES_MAX - 1,
                 err.message);
}

void teller_tell(struct alert_teller *teller, const struct telling *telling, struct told *told)
{
    *told = (struct told){0};
    if (teller->outbound)
        post(teller, telling, told);
    else
        alert_command(teller->target, telling, teller->stop, told);
    text_tidy(told->detail, true);
}
