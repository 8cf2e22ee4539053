// A list as every command shows it: asked for page by page, so that memory does not grow with the
// store; a table for people, with --json one object for programs.
#pragma once

#include "cli/backend.h"
#include "cli/output.h"

struct listing {
    struct cli *cli;
    int64_t left;      // how many may still be shown
    struct page page;
    struct items items;
    struct table table;
    void (*add)(struct listing *listing, const json_t *object);  // a row of the table
    bool (*next)(struct listing *listing, struct pawl_error *err);  // asks for listing->page
    void *about;       // whatever those two need to know
    const char *none;  // said of a list that is empty ...
    const char *more;  // ... and of one that --limit has cut
};

// As many as --limit says, else twenty.
struct listing listing_of(struct cli *cli, const char *const *headings, size_t columns,
                          void (*add)(struct listing *listing, const json_t *object));

// Asks for pages until enough is shown.
CHECKED bool listing_show(struct listing *listing, struct pawl_error *err);

// The same in parts, for what does not come in pages of a backend.
CHECKED bool listing_add(struct listing *listing, const json_t *object, struct pawl_error *err);
void listing_end(struct listing *listing);
