#include "answers.h"

#include <stdlib.h>

bool answers_are_lost(void)
{
    return getenv("STORE_ANSWERS_LOST") != NULL;
}

bool lent_commit(struct pawl_tx *tx, struct pawl_error *err)
{
    return pawl_commit(tx, err) || (answers_are_lost() && err->code == PAWL_IN_DOUBT);
}
