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

bool yaml_null(const struct yaml_node *node);  // nothing, `~` or `null`

// Where a node is, as a list up the stack: it becomes a text only when there is something to say.
struct yaml_path {
    const struct yaml_path *up;  // NULL: the root
    struct str key;              // empty: an element of a list
    size_t index;
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

struct yaml_place {
    int line, column;
    const struct yaml_path *path;  // NULL: the whole file
};

void yaml_fault(struct yaml_faults *faults, struct yaml_place place, const char *format, ...)
    PRINTF(3, 4);
void yaml_faults_sort(struct yaml_faults *faults);  // into the order of the file

// `pawl.yaml:12:5: job_types.report.timeout: must be ...`
struct str yaml_fault_text(struct arena *arena, const struct yaml_faults *faults, size_t index);

// Parses a text. What is wrong is in `faults`. NULL when it is no YAML; else the tree, which is
// there although keys are given twice or anchors are used, so that the rest can be checked. An
// empty document is an empty map.
const struct yaml_node *yaml_parse(struct str text, struct yaml_faults *faults);
