// A short list: bulk replays are rare, and so are the orgs that are at it.
#include "server/letter_pace.h"

#include <string.h>

struct bucket *letter_pace_of(struct letter_pace *pace, struct str org_id)
{
    struct paced_org *place = &pace->orgs[0];
    for (size_t i = 0; i < PACED_ORGS_MAX; i++) {
        struct paced_org *org = &pace->orgs[i];
        if (org_id.n == ID_TEXT && memcmp(org->org_id, org_id.s, ID_TEXT) == 0)
            return &org->bucket;
        if (org->bucket.full_at_ns < place->bucket.full_at_ns)
            place = org;
    }
    *place = (struct paced_org){0};
    memcpy(place->org_id, org_id.s, org_id.n < ID_TEXT ? org_id.n : ID_TEXT);
    return &place->bucket;
}
