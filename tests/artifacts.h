// Artifacts for tests: a file beside the store of a box, and its row.
#pragma once

#include "fixture.h"

#include "engine/artifact.h"
#include "store/blob.h"

// One with these bytes, of the box's caller, in no project.
struct artifact must_store(struct box *box, const char *bytes);
struct artifact must_store_for(struct box *box, const char *bytes, const char *project);

// Its bytes and whether its file is there.
bool file_is_there(struct box *box, const struct artifact *artifact);
size_t files_of(struct box *box);  // in the directory
