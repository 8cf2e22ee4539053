// Asked of the library that will use them: the server's HTTP library has the same.
#include "server/tls_pair.h"

#include <gnutls/gnutls.h>
#include <stddef.h>

const char *tls_pair_fault(const char *certificate, const char *key)
{
    gnutls_certificate_credentials_t pair = NULL;
    int code = gnutls_certificate_allocate_credentials(&pair);
    if (code == GNUTLS_E_SUCCESS)
        code = gnutls_certificate_set_x509_key_file(pair, certificate, key, GNUTLS_X509_FMT_PEM);
    if (pair)
        gnutls_certificate_free_credentials(pair);
    return code < 0 ? gnutls_strerror(code) : NULL;
}
