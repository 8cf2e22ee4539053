// What every backend needs of a batch.
#include "cli/batch.h"

void batch_end(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        json_end(&batch->entries[i].object);
        json_end(&batch->entries[i].job);
    }
    batch->count = 0;
}

bool entry_open(const struct entry *entry)
{
    return entry->problem_count == 0 && entry->error.code == PAWL_OK;
}

bool batch_in_doubt(struct pawl_error *err)
{
    return fail(err, PAWL_IN_DOUBT,
                "it is not known whether this was stored (%s): send it again with the same key to "
                "find out",
                err->message);
}
