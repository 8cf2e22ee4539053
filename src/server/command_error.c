// A command may print whatever it likes: what is not wholly understood is left to its exit status.
#include "server/command_error.h"

#include "base/json.h"
#include "base/world.h"

enum { SAID_BYTES_MAX = 64 << 10, RETRY_AFTER_MS_MAX = 86400000 };

static struct str text_in(struct arena *arena, const json_t *object, const char *name)
{
    const json_t *text = json_object_get(object, name);
    return str_dup(arena, (struct str){ text ? json_string_value(text) : "",
                                        text ? json_string_length(text) : 0 });
}

// The others are not a command's to say: Pawl finds out by itself.
static bool may_say(enum error_class class)
{
    return class != ERROR_NONE && class != ERROR_CANCELLED && class != ERROR_CRASH;
}

static int64_t retry_after(const json_t *object)
{
    json_int_t ms = json_integer_value(json_object_get(object, "retry_after_ms"));
    if (ms < 0)
        return 0;
    return MILLISECONDS(ms < RETRY_AFTER_MS_MAX ? ms : RETRY_AFTER_MS_MAX);
}

bool command_error(struct arena *arena, struct str output, struct command_error *error)
{
    SCOPED(json) json_t *said = NULL;
    *error = (struct command_error){ .class = ERROR_NONE };
    if (!json_parse(output, SAID_BYTES_MAX, &said, NULL))
        return false;
    const json_t *object = json_object_get(said, "error");
    if (!error_class_parse(text_in(arena, object, "class"), &error->class)
        || !may_say(error->class))
        return false;
    error->message = text_in(arena, object, "message");
    error->retry_after_us = retry_after(said);
    return true;
}
