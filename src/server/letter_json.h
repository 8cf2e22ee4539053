// Dead letters as the interface shows them: the fields of their job, and these behind them.
#pragma once

#include "engine/letter.h"

// What every letter has, into an object that is open.
void letter_put(struct buf *out, const struct letter *letter);

// What one letter has besides. `payloads`: the reader may see what a fix changed.
struct letter_shown {
    const struct letter_record *record;
    struct str runbook;  // of its type; empty: none
    bool payloads;
};
void letter_record_put(struct buf *out, const struct letter_shown *shown);

// The whole objects of a fix that was only tried, of groups, and of a bulk operation. Empty: no
// memory.
struct str letter_preview_text(struct arena *arena, const struct letter_fix *fix, bool payloads);
struct str letter_groups_text(struct arena *arena, const struct letter_groups *groups);
struct str letter_sweep_text(struct arena *arena, const struct letter_sweep *sweep);
