// How fast dead letters may be closed in bulk, per org: a replay of ten thousand is ten thousand
// jobs for those who could not do them before.
#pragma once

#include "base/id.h"
#include "model/rate.h"

enum { PACED_ORGS_MAX = 64 };

// Of the HTTP thread alone. An org that is not in it has closed none lately.
struct letter_pace {
    struct paced_org {
        char org_id[ID_TEXT];
        struct bucket bucket;
    } orgs[PACED_ORGS_MAX];
};

// The bucket of the org. When the table is full it takes the place of the org that has waited for
// longest, which costs that one nothing unless 64 orgs replay at once.
struct bucket *letter_pace_of(struct letter_pace *pace, struct str org_id);
