// /openapi.json, made from the route table.
#pragma once

#include "base/json.h"

// The whole document. The caller owns it; NULL when there is no memory.
json_t *openapi_document(struct arena *arena);
