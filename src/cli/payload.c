// From the command line or from standard input, with the limits of any payload.
#include "cli/payload.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool read_stdin(struct arena *arena, struct str *text, struct pawl_error *err)
{
    char *bytes = arena_alloc(arena, PAYLOAD_BYTES_MAX + 1);
    size_t n = 0;
    if (!bytes)
        return fail(err, PAWL_NO_MEMORY, "no memory to read the payload");
    while (n <= PAYLOAD_BYTES_MAX) {
        ssize_t got = read(STDIN_FILENO, bytes + n, PAYLOAD_BYTES_MAX + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(err, PAWL_INVALID, "cannot read the payload: %s", strerror(errno));
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (n > PAYLOAD_BYTES_MAX)
        return fail(err, PAWL_TOO_LARGE, "payload: has more than %d bytes, the most it may have",
                    PAYLOAD_BYTES_MAX);
    *text = (struct str){ bytes, n };
    return true;
}

bool payload_read(struct cli *cli, struct str text, json_t **payload, struct pawl_error *err)
{
    struct pawl_error why;
    if (str_eq(text, S("-")) && !read_stdin(&cli->arena, &text, err))
        return false;
    return json_parse(text, PAYLOAD_BYTES_MAX, payload, &why)
        || fail(err, why.code, "payload: %s", why.message);
}
