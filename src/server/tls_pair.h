// A certificate and its private key, as files.
#pragma once

// Why the server could not use them, NULL when it can: they are read, and belong together.
const char *tls_pair_fault(const char *certificate, const char *key);
