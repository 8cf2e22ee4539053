// EXPLAIN: limits and pauses that keep a job waiting are named as the claim meets them.
#include <string.h>

#include "explained.h"
#include "limited.h"

static const struct {
    enum limit_scope scope;
    struct str name;
    const char *whose;
} scopes[] = {
    { LIMIT_QUEUE, { "q:default", 9 }, "queue q:default" },
    { LIMIT_TYPE, { "mail", 4 }, "type mail" },
    { LIMIT_ORG, { "0198c7a2-0000-7000-8000-00000000000a", 36 }, "its org" },
    { LIMIT_KEY, { "mail", 4 }, "limit key acme of type mail" },
};

static bool says(struct str sentence, const char *words)
{
    return strstr(str_cstr(test_arena(), sentence), words) != NULL;
}

TEST_EACH_DB(EXPLAIN_names_the_limit_on_what_runs_at_once)
{
    speak_for(box, S(""));
    for (size_t i = 0; i < countof(scopes); i++) {
        struct claimed *claimed = NULL;
        limited_add(box, (struct mail){ .key = S("acme") });
        struct job second = limited_add(box, (struct mail){ .key = S("acme") });
        limit_on(box, scopes[i].scope, scopes[i].name, (struct limit){ .max_running = 1 });
        EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
        for (int met = 0; met < 2; met++) {  // before a claim met it, and after
            struct claimed *none = NULL;
            EXPECT_INT(met ? limited_claim(box, 10, &none, NULL) : 0, 0);
            struct explanation e = explained(box, second.id);
            EXPECT_STR(str_of(cause_name(e.why.cause)), "limit_running");
            EXPECT(says(e.why.sentence, scopes[i].whose));
            EXPECT(says(e.why.sentence, "1 of 1"));
            EXPECT(says(e.why.sentence, "the oldest since"));
        }
        limited_commit(box, &claimed[0]);
        limit_on(box, scopes[i].scope, scopes[i].name, (struct limit){0});
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
        limited_commit(box, &claimed[0]);
    }
}

TEST_EACH_DB(EXPLAIN_names_the_rate_and_when_it_has_room)
{
    speak_for(box, S(""));
    for (size_t i = 0; i < countof(scopes); i++) {
        struct claimed *claimed = NULL;
        limited_add(box, (struct mail){ .key = S("acme") });
        struct job second = limited_add(box, (struct mail){ .key = S("acme") });
        limit_on(box, scopes[i].scope, scopes[i].name, (struct limit){ .rate = rate_of("1/m") });
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 0);
        struct explanation e = explained(box, second.id);
        EXPECT_STR(str_of(cause_name(e.why.cause)), "limit_rate");
        EXPECT(says(e.why.sentence, scopes[i].whose) && says(e.why.sentence, "1/m"));
        EXPECT(e.until > box->world.wall && e.until <= box->world.wall + MINUTES(1));
        pass(box, e.until - box->world.wall);
        if (scopes[i].scope == LIMIT_KEY)
            EXPECT_INT(explained(box, second.id).why.cause, CAUSE_LIMIT_KEY_NEXT);
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
        limit_on(box, scopes[i].scope, scopes[i].name, (struct limit){0});
        pass(box, MINUTES(5));
    }
}

// A tenant learns that a limit it shares with others is reached, and nothing of their jobs.
TEST_EACH_DB(OPS_10_explain_tells_a_tenant_nothing_of_what_others_run)
{
    struct claimed *claimed = NULL;
    limited_add(box, (struct mail){ .org = ORG_B });
    struct job own = limited_add(box, (struct mail){ .org = ORG_A });
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 1 });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    bool taken = id_eq(claimed[0].job.id, own.id);
    EXPECT(!taken || str_eq(claimed[0].job.contract.org_id, ORG_A));
    if (taken)
        own = limited_add(box, (struct mail){ .org = ORG_A });
    speak_for(box, ORG_A);
    struct explanation e = explained(box, own.id);
    EXPECT_INT(e.why.cause, CAUSE_LIMIT_RUNNING);
    EXPECT(!says(e.why.sentence, "oldest since"));
}

static void expect_pause(struct box *box, enum rate_limited on_rate_limited, const char *whose)
{
    struct claimed *claimed = NULL;
    struct execution execution;
    limited_add_many(box, (struct mail){0}, 1);
    struct job second = limited_add(box, (struct mail){0});
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .on_rate_limited = on_rate_limited });
    EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
    struct worker worker = worker_named("W");
    struct lease lease = lease_of(&claimed[0].execution, &worker);
    struct work_error error = {
        .class = ERROR_RATE_LIMITED,
        .message = S("429"),
        .retry_after_us = MINUTES(2),
    };
    speak_for(box, S(""));
    OK(execution_fail(tx, &lease, &error, &execution, err));
    struct explanation e = explained(box, second.id);
    EXPECT_INT(e.why.cause, CAUSE_TYPE_PAUSED);
    EXPECT(e.until == box->world.wall + MINUTES(2));
    EXPECT(says(e.why.sentence, whose));
    EXPECT(says(e.why.advice, "pawl limits resume mail"));
}

TEST_EACH_DB(EXPLAIN_names_the_pause_of_a_type)
{
    expect_pause(box, RATE_LIMITED_PAUSE, " for its org");
}

TEST_EACH_DB(EXPLAIN_names_the_pause_of_a_type_for_every_org)
{
    expect_pause(box, RATE_LIMITED_PAUSE_ALL, " for every org");
}

static const struct str project = { "aaaaaaaa-0000-7000-8000-000000000000", 36 };

// What an org has in other projects is not told to who is limited to one.
TEST_EACH_DB(EXPLAIN_tells_a_limited_caller_of_the_limit_and_not_of_what_runs)
{
    struct contract contract = contract_for(box, "mail");
    struct claimed *claimed = NULL;
    contract.project_id = project;
    must_add(box, &contract);
    struct job second = must_add(box, &contract);
    limit_on(box, LIMIT_ORG, S(""), (struct limit){ .max_running = 1 });
    EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
    EXPECT(says(explained(box, second.id).why.sentence, "the oldest since"));
    box->caller.projects = &project;
    box->caller.project_count = 1;
    struct explanation e = explained(box, second.id);
    EXPECT_STR(str_of(cause_name(e.why.cause)), "limit_running");
    EXPECT(!says(e.why.sentence, "the oldest since"));
    REFUSED(PAWL_FORBIDDEN, type_resume(tx, S("mail"), err));
    struct limits_view view;
    OK(limits_view(tx, &view, err));
    SCOPED(json) json_t *shown = limits_view_json(test_arena(), &view);
    EXPECT(shown != NULL);
}

// The job that another was made from may be of a project that the caller does not see.
TEST_EACH_DB(EXPLAIN_does_not_name_a_job_that_the_caller_does_not_see)
{
    struct contract follow = contract_for(box, "follow");
    struct job_list list;
    struct execution e;
    follow.project_id = project;
    must_enqueue(box, "first");
    struct lease lease = must_start(box, "A");
    struct commit commit = { .done = true, .follow_ups = &follow, .follow_up_count = 1 };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    OK(job_find(tx, &(struct job_filter){ .job_type = S("follow") }, &list, err));
    EXPECT_INT(list.count, 1);
    struct id id = list.jobs[0].id;
    struct explanation all = explained(box, id);
    EXPECT(says_also(&all, CAUSE_MADE_FROM));
    box->caller.projects = &project;
    box->caller.project_count = 1;
    struct explanation some = explained(box, id);
    EXPECT(!says_also(&some, CAUSE_MADE_FROM));
}
