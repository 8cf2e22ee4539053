// /openapi.json: OpenAPI 3.1, made from the route table, the fields of requests and the schemas of
// answers. Nothing in it is written by hand twice.
#pragma once

#include "server/sheet.h"

// The whole document as text. It never changes while the process lives: made when it is first asked
// for, and kept. Empty when there is no memory: ask again later.
struct str openapi_text(void);

// ----- for the parts of it

struct route;

const char *openapi_content(const char *schema);  // the media type of what has this schema

// What a route takes in its body: {"required": ..., "content": ...}.
json_t *openapi_body(struct sheet *sheet, const struct route *route);

// Adds the schemas that only requests have: Enqueue, NewJob, NewJobs, Operation.
void openapi_add_requests(struct sheet *sheet, json_t *schemas);
