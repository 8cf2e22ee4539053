// YAML as a tree whose nodes know where they stand: a thin layer over libfyaml.
//
// Only what a configuration needs: one document of maps, lists and texts. Anchors, aliases, tags
// and merge keys are refused, so a small file is a small tree; so are keys given twice.
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum { YAML_BYTES_MAX = 1 << 20, YAML_DEPTH_MAX = 16, YAML_KEY_BYTES_MAX = 256 };

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    int line, column;              // from 1
    struct str text;               // of YAML_TEXT
    bool quoted;                   // "true" is a text, true is not
    struct str key;                // when it is in a map
    int key_line, key_column;
    const struct yaml_node *first; // of a list or map
    const struct yaml_node *next;  // in the list or map it is in
    size_t count;                  // of a list or map
};

// What is wrong in a file, where, and at which key: `job_types.report.export.timeout`.
struct yaml_fault {
    int line, column;
    struct str key;
    struct str message;
};

enum { YAML_FAULTS_MAX = 100 };

struct yaml_faults {
    struct arena *arena;
    struct str path;  // of the file, as it was named
    struct yaml_fault list[YAML_FAULTS_MAX];
    size_t count;
    bool more;        // there were more
};

void yaml_fault(struct yaml_faults *faults, const struct yaml_fault *where, const char *format,
                ...) PRINTF(3, 4);

// `pawl.yaml:12:5: job_types.report.timeout: must be ...`
struct str yaml_fault_text(struct arena *arena, const struct yaml_faults *faults, size_t index);

// Parses a text. Everything found is in `faults`, in the order of the text; NULL when there is
// no tree. An empty document is an empty map. Never answers a tree when there were faults.
const struct yaml_node *yaml_parse(struct str text, struct yaml_faults *faults);
