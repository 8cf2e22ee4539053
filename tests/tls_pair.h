// A pair for tests of TLS, made for nothing else: it is nobody's.
#pragma once

static const char test_certificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBbzCCARWgAwIBAgIUdL0rPf1KnjkggV+OCDB9Pgzhm9UwCgYIKoZIzj0EAwIw\n"
    "DDEKMAgGA1UEAwwBdDAgFw0yNjExMTgwMTMxNThaGA8yMTI2MTAyNTAxMzE1OFow\n"
    "DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABI+1TZV3onCY\n"
    "+3BIyro/WmmWfWUJM2heaKy0oHrAr/AHI3bCskSOuNSKnU+uTl66C7nqmzIeMdWQ\n"
    "oAa69YUSgfajUzBRMB0GA1UdDgQWBBTp2CH/AFy1M3LzkLfK1M7nGEs4aDAfBgNV\n"
    "HSMEGDAWgBTp2CH/AFy1M3LzkLfK1M7nGEs4aDAPBgNVHRMBAf8EBTADAQH/MAoG\n"
    "CCqGSM49BAMCA0gAMEUCIAgY21vQEGpZ2q1erK5IkUptIpsYlcob5DaiTDg+j+4a\n"
    "AiEA2B4aJ7SMe8//bvwmoBRRYS7TCSnl0FSZf2z7koZFV8w=\n"
    "-----END CERTIFICATE-----\n";

static const char test_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCv5TUvXOsWAFPc9W\n"
    "ubuTXZVzYZvXfzDtK/mj0M+MasShRANCAASPtU2Vd6JwmPtwSMq6P1ppln1lCTNo\n"
    "XmistKB6wK/wByN2wrJEjrjUip1Prk5eugu56psyHjHVkKAGuvWFEoH2\n"
    "-----END PRIVATE KEY-----\n";

// Of another certificate.
static const char test_other_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+1VscIAft7SX/BRQ\n"
    "GzFdryuC1C6GG5FYN0cLN+BCwlChRANCAATXCBy0j2YJRC5Z9gd3HN0sSmk//sju\n"
    "MYpq2lpa0zObr7vR3sSNuSQV8vXmUiS9gzI/UNl4QSsUBB3M7tn2EySC\n"
    "-----END PRIVATE KEY-----\n";
