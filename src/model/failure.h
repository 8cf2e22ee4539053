// Why work ends: error classes (what a worker says), end reasons (what became of an execution) and
// failure types (what became of a job).
#pragma once

#include "base/text.h"

// JOB-3, OPS-7: the class of an error decides whether another attempt could help.
enum error_class {
    ERROR_NONE,
    ERROR_INVALID_INPUT,
    ERROR_VALIDATION,
    ERROR_AUTHORIZATION,
    ERROR_BUSINESS_RULE,
    ERROR_CONFIGURATION,
    ERROR_RESOURCE_LIMIT,
    ERROR_TIMEOUT_PERMANENT,
    ERROR_CANCELLED,
    ERROR_TRANSIENT,
    ERROR_TIMEOUT,
    ERROR_OVERLOAD,
    ERROR_DEPENDENCY,
    ERROR_RATE_LIMITED,
    ERROR_CRASH,
    ERROR_CLASSES
};

const char *error_class_name(enum error_class class);  // "" for ERROR_NONE
bool error_class_parse(struct str name, enum error_class *class);
bool error_class_retryable(enum error_class class);

enum end_reason {
    END_NONE,                // the execution lives
    END_DONE,                // committed and done
    END_ERROR,               // the worker reported an error
    END_TIMEOUT,             // its deadline passed
    END_LEASE_EXPIRED,       // its worker fell silent
    END_PROCESS_TERMINATED,  // its process died and came back (boot recovery)
    END_RELEASED,            // the worker gave it back; burns no attempt
    END_CANCELLED,           // stopped on request
    END_REASONS
};

const char *end_reason_name(enum end_reason reason);  // "" for END_NONE
bool end_reason_parse(struct str name, enum end_reason *reason);
bool end_reason_crash(enum end_reason reason);  // the worker vanished: nobody reported

enum failure_type {
    FAILURE_NONE,
    FAILURE_HANDLER_ERROR,
    FAILURE_PROCESS_TERMINATED,
    FAILURE_LEASE_EXPIRED,
    FAILURE_TIMEOUT,
    FAILURE_CANCELLED,
    FAILURE_ATTEMPTS_EXHAUSTED,
    FAILURE_RESOURCE_EXHAUSTED,
    FAILURE_DEPENDENCY_FAILED,
    FAILURE_TYPES
};

const char *failure_type_name(enum failure_type type);  // "" for FAILURE_NONE
bool failure_type_parse(struct str name, enum failure_type *type);
