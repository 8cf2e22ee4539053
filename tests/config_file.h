// A configuration in a directory of its own, for tests.
#pragma once

#include "test.h"

#include "server/config.h"

struct config_file {
    char directory[64];
    struct str path;  // of pawl.yaml in it
    struct config config;
    struct yaml_faults faults;
    struct pawl_error err;
};

void config_file_open(struct config_file *file);
void config_file_close(struct config_file *file);

// Writes another file beside it, with these rights.
const char *config_file_put(struct config_file *file, const char *name, struct str text, int mode);

// Writes and loads: true when the configuration is fine.
bool config_file_load(struct config_file *file, struct str text);

// Loads a text that must be fine, in which ' stands for ". It stays there until the test ends.
struct config *must_configure(struct config_file *file, const char *text);

// All faults, a line each, without the path of the file: `3:5: limits.wait: must be ...`.
struct str config_file_faults(const struct config_file *file);

// Loads a text that must be refused, and answers its faults.
struct str config_file_refused(struct config_file *file, const char *text);

// The same; the faults must have this among them.
void expect_fault(struct config_file *file, const char *text, const char *fault);

#define CONFIG_TEST(name)                          \
    static void name##_in(struct config_file *file); \
    TEST(name)                                     \
    {                                              \
        static struct config_file file;            \
        config_file_open(&file);                   \
        name##_in(&file);                          \
        config_file_close(&file);                  \
    }                                              \
    static void name##_in(struct config_file *file)
