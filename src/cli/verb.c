// A table of verbs for one command.
#include "cli/verb.h"

// `create, list or revoke`
static struct str names(struct arena *arena, const struct verb *verbs, size_t count)
{
    struct str all = str_of(verbs[0].name);
    for (size_t i = 1; i < count; i++)
        all = str_format(arena, "%.*s%s%s", STR(all), i + 1 < count ? ", " : " or ",
                         verbs[i].name);
    return all;
}

bool verb_act(struct cli *cli, const struct verb *verbs, size_t count, struct pawl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(cli->words[0], str_of(verbs[i].name)))
            continue;
        if (cli->word_count != verbs[i].words)
            return usage(cli, err, "%s %s takes %zu more %s", cli->command->name, verbs[i].name,
                         verbs[i].words - 1, verbs[i].words == 2 ? "word" : "words");
        return verbs[i].act(cli, err);
    }
    return usage(cli, err, "%s does not know `%.*s`: it must be %.*s", cli->command->name,
                 STR(cli->words[0]), STR(names(&cli->arena, verbs, count)));
}
