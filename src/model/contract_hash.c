// What makes two requests with one key the same.
#include "model/contract.h"
#include "model/json_field.h"
#include "model/stable.h"

struct str contract_hash(struct arena *arena, const struct contract *contract)
{
    json_t *payload = NULL;
    if (!json_parse(contract->payload, contract->payload.n, &payload, NULL)) {
        arena->failed = true;  // the payload was checked: only memory can be short
        return S("");
    }
    const struct json_field parts[] = {
        { "type", json_text_or_null(contract->job_type) },
        { "project", json_text_or_null(contract->project_id) },
        { "payload", payload },
        { "serial_key", json_text_or_null(contract->serial_key) },
        { "scheduled_for", json_time_or_null(arena, contract->scheduled_for) },
    };
    SCOPED(json) json_t *object = json_object_of(parts, countof(parts));
    arena->failed |= object == NULL;
    return object ? stable_hash(arena, object) : S("");
}
