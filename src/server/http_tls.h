// The certificate and the key of a server, as the protocol library takes them.
#pragma once

#include <microhttpd.h>

#include "base/arena.h"
#include "base/error.h"

struct config;

enum { TLS_OPTIONS = 3 };

// The options for MHD_OPTION_ARRAY: none but the end when there is no TLS. Texts live in the arena.
CHECKED bool tls_options(const struct config *config, struct arena *arena,
                         struct MHD_OptionItem options[TLS_OPTIONS], struct pawl_error *err);
