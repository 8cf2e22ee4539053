// Three tables of names, each with the one rule that goes with the name.
#include "model/failure.h"

#include <assert.h>

static const struct {
    const char *name;
    bool retryable;
} error_classes[] = {
    [ERROR_NONE] = { "", false },
    [ERROR_INVALID_INPUT] = { "invalid_input", false },
    [ERROR_VALIDATION] = { "validation", false },
    [ERROR_AUTHORIZATION] = { "authorization", false },
    [ERROR_BUSINESS_RULE] = { "business_rule", false },
    [ERROR_CONFIGURATION] = { "configuration", false },
    [ERROR_RESOURCE_LIMIT] = { "resource_limit", false },
    [ERROR_TIMEOUT_PERMANENT] = { "timeout_permanent", false },
    [ERROR_CANCELLED] = { "cancelled", false },
    [ERROR_TRANSIENT] = { "transient", true },
    [ERROR_TIMEOUT] = { "timeout", true },
    [ERROR_OVERLOAD] = { "overload", true },
    [ERROR_DEPENDENCY] = { "dependency", true },
    [ERROR_RATE_LIMITED] = { "rate_limited", true },
    [ERROR_CRASH] = { "crash", true },
};
_Static_assert(countof(error_classes) == ERROR_CLASSES, "one row per class");

static const struct {
    const char *name;
    bool crash;
} end_reasons[] = {
    [END_NONE] = { "", false },
    [END_DONE] = { "done", false },
    [END_ERROR] = { "error", false },
    [END_TIMEOUT] = { "timeout", false },
    [END_LEASE_EXPIRED] = { "lease_expired", true },
    [END_PROCESS_TERMINATED] = { "process_terminated", true },
    [END_RELEASED] = { "released", false },
    [END_CANCELLED] = { "cancelled", false },
};
_Static_assert(countof(end_reasons) == END_REASONS, "one row per reason");

static const struct {
    const char *name;
} failure_types[] = {
    [FAILURE_NONE] = { "" },
    [FAILURE_HANDLER_ERROR] = { "HANDLER_ERROR" },
    [FAILURE_PROCESS_TERMINATED] = { "PROCESS_TERMINATED" },
    [FAILURE_LEASE_EXPIRED] = { "LEASE_EXPIRED" },
    [FAILURE_TIMEOUT] = { "TIMEOUT" },
    [FAILURE_CANCELLED] = { "CANCELLED" },
    [FAILURE_ATTEMPTS_EXHAUSTED] = { "ATTEMPTS_EXHAUSTED" },
    [FAILURE_RESOURCE_EXHAUSTED] = { "RESOURCE_EXHAUSTED" },
    [FAILURE_DEPENDENCY_FAILED] = { "DEPENDENCY_FAILED" },
};
_Static_assert(countof(failure_types) == FAILURE_TYPES, "one row per type");

// The empty name of row 0 is for printing only: it is never parsed.
// clang-format off
#define NAMED(what, table, limit)                                                   \
    const char *what##_name(enum what value)                                        \
    {                                                                               \
        assert(value < limit);                                                      \
        return table[value].name;                                                   \
    }                                                                               \
    bool what##_parse(struct str name, enum what *value)                            \
    {                                                                               \
        for (unsigned i = 1; i < limit; i++)                                        \
            if (str_eq(name, str_of(table[i].name)))                                \
                return *value = (enum what)i, true;                                 \
        return false;                                                               \
    }
NAMED(error_class, error_classes, ERROR_CLASSES)
NAMED(end_reason, end_reasons, END_REASONS)
NAMED(failure_type, failure_types, FAILURE_TYPES)
// clang-format on

bool error_class_retryable(enum error_class class)
{
    assert(class < ERROR_CLASSES);
    return error_classes[class].retryable;
}

bool end_reason_crash(enum end_reason reason)
{
    assert(reason < END_REASONS);
    return end_reasons[reason].crash;
}
