#include "explained.h"

#include <string.h>

#include "base/time_text.h"

struct explanation explained(struct box *box, struct id id)
{
    struct explanation explanation;
    struct tx tx_ = {0}, *tx = &tx_;
    struct pawl_error err_ = {0}, *err = &err_;
    bool done = false;
    PLAY_EACH(done, job_explain(tx, id, &explanation, err));
    expect_done(done, err, PLACE("job_explain"));
    box_commit(tx);
    return explanation;
}

static void expect_words(struct str sentence, const char *words, struct place place)
{
    const char *text = str_cstr(test_arena(), sentence);
    if (!strstr(text, words))
        print_error("`%s` is not in: %s\n", words, text);
    expect(strstr(text, words) != NULL, place);
    expect(!strchr(text, '{'), place);  // no hole is left
    expect(!strstr(text, "1970-01-01"), place);  // and none filled with a time that is not known
}

void expect_cause(struct explanation e, enum cause cause, const char *words,
                  struct place place)
{
    expect_str(str_of(cause_name(e.why.cause)), str_of(cause_name(cause)), place);
    expect_words(e.why.sentence, words, place);
    expect_words(e.why.advice, "", place);
}

bool says_also(const struct explanation *e, enum cause cause)
{
    for (size_t i = 0; i < e->also_count; i++)
        if (e->also[i].cause == cause)
            return true;
    return false;
}

void expect_also(struct explanation e, enum cause cause, const char *words,
                 struct place place)
{
    expect(says_also(&e, cause), place);
    for (size_t i = 0; i < e.also_count; i++)
        if (e.also[i].cause == cause)
            expect_words(e.also[i].sentence, words, place);
}

void alive(struct box *box)
{
    static const struct instance process = { { "one", 3 }, { "boot-1", 6 } };
    OK(instance_enter(tx, &process, true, err));
}

const char *when(pawl_time time)
{
    return str_cstr(test_arena(), time_text(test_arena(), time));
}

const char *text_of(struct id id)
{
    return str_cstr(test_arena(), id_text(test_arena(), id));
}
