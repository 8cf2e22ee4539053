// Operations whose calls fail one by one, in `make test`: those of a store with everything in it.
// With REHEARSALS in the environment every test program does so.
#include <stdlib.h>

#include "rich_store.h"

// What is counted when a transaction ends was stored without the counts for which there was no
// memory, and a job for an org that nobody had used ended the program.
TEST_EACH_DB(OPS_9_an_operation_says_so_whichever_of_its_calls_fails)
{
    setenv("REHEARSALS", "1", 1);
    rich_store(box);
    unsetenv("REHEARSALS");
}
