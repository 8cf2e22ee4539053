// Both files are read whole, when the server starts.
#include "server/http_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/config.h"

static bool read_file(struct arena *arena, struct str path, char **text, struct pawl_error *err)
{
    enum { BYTES_MAX = 1 << 20 };
    FILE *file = fopen(str_cstr(arena, path), "re");
    if (!file)
        return fail(err, PAWL_INVALID, "tls: cannot read %.*s: %s", STR(path), strerror(errno));
    *text = arena_alloc(arena, BYTES_MAX);
    size_t n = *text ? fread(*text, 1, BYTES_MAX - 1, file) : 0;
    fclose(file);
    return n > 0 || fail(err, PAWL_INVALID, "tls: %.*s is empty", STR(path));
}

bool tls_options(const struct config *config, struct arena *arena,
                 struct MHD_OptionItem options[TLS_OPTIONS], struct pawl_error *err)
{
    char *certificate, *key;
    options[0] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    if (config->tls.certificate.n == 0)
        return true;
    if (!read_file(arena, config->tls.certificate, &certificate, err)
        || !read_file(arena, config->tls.key, &key, err))
        return false;
    options[0] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, certificate };
    options[1] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, key };
    options[2] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
    return true;
}
