// pawl schedule: its verbs.
#include "cli/schedule.h"
#include "cli/verb.h"

bool command_schedule(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "explain", 2, schedule_explain },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
