// A certificate and its key in the configuration.
#include "config_file.h"
#include "tls_pair.h"

enum { PRIVATE = 0600, PUBLIC = 0644 };

CONFIG_TEST(CONFIG_a_private_key_that_everybody_can_read_is_refused)
{
    config_file_put(file, "cert.pem", str_of(test_certificate), PUBLIC);
    config_file_put(file, "key.pem", str_of(test_key), PUBLIC);
    expect_fault(file, "tls: {certificate: cert.pem, key: key.pem}", "can be read by everybody");
    config_file_put(file, "key.pem", str_of(test_key), PRIVATE);
    must_configure(file, "tls: {certificate: cert.pem, key: key.pem}");
    expect_fault(file, "tls: {certificate: cert.pem}", "1:1: tls: needs both certificate and key");
    expect_fault(file, "tls: {key: key.pem}", "1:1: tls: needs both certificate and key");
}

CONFIG_TEST(OPS_10_a_certificate_and_a_key_that_do_not_belong_together_are_refused)
{
    static const char text[] = "tls: {certificate: cert.pem, key: key.pem}";
    static const char *const keys[] = { test_other_key, "x", "" };
    config_file_put(file, "cert.pem", str_of(test_certificate), PUBLIC);
    for (size_t i = 0; i < countof(keys); i++) {
        config_file_put(file, "key.pem", str_of(keys[i]), PRIVATE);
        expect_fault(file, text, "1:20: tls.certificate: cannot be used with the key");
    }
    config_file_put(file, "key.pem", str_of(test_key), PRIVATE);
    config_file_put(file, "cert.pem", S("x"), PUBLIC);
    expect_fault(file, text, "1:20: tls.certificate: cannot be used with the key");
}
