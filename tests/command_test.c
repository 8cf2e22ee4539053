// Commands as handlers: what goes in, what comes out, how it ends.
#include "act.h"

#include "base/world.h"

// ----- results

TEST_SHOP(EXEC_10_what_a_command_prints_is_the_result, .workers = 1)
{
    const struct {
        const char *word, *result;
    } cases[] = {
        { "copy", "{\"a\":1}" },  // the payload, which is its input
        { "out=[1, 2.50]\n", "[1, 2.50]" },
        { "out=two words\n", "\"two words\"" },
        { "bytes=61ff007a", "\"a\xef\xbf\xbd\xef\xbf\xbdz\"" },
        { "out= \n\n", "null" },
        { "exit=0", "null" },
        { "out={\"a\":1,\"a\":2}", "\"{\\\"a\\\":1,\\\"a\\\":2}\"" },
        { "descriptors", "\"0 1 2 \"" },
    };
    struct act *acts[countof(cases)];
    for (size_t i = 0; i < countof(cases); i++)
        act_handle(shop->pawl, acts[i] = ACT(cases[i].word));
    shop_start(shop);
    for (size_t i = 0; i < countof(cases); i++) {
        act_enqueue(shop, acts[i], "{\"a\":1}");
        EXPECT_STR(act_end(shop, acts[i]), "SUCCEEDED");
        expect_str(act_result(shop, acts[i]), str_of(cases[i].result), PLACE(cases[i].word));
    }
}

TEST_SHOP(EXEC_10_large_payloads_and_results_are_kept_whole, .workers = 1)
{
    struct act *reads = ACT("copy"), *reads_not = ACT("exit=0");
    struct str payload = str_format(test_arena(), "{\"a\":\"%0*d\"}", 1000000, 1);
    act_handle(shop->pawl, reads);
    act_handle(shop->pawl, reads_not);
    shop_start(shop);
    act_enqueue(shop, reads, payload.s);
    act_enqueue(shop, reads_not, payload.s);
    EXPECT_STR(act_end(shop, reads), "SUCCEEDED");
    EXPECT_STR(act_end(shop, reads_not), "SUCCEEDED");
    expect_str(act_result(shop, reads), payload, PLACE("the result"));
}

TEST_SHOP(OPS_10_the_environment_of_a_command_is_clean, .workers = 1)
{
    char colour[] = "COLOUR=red", lang[] = "LANG=de_DE.UTF-8", forged[] = "PAWL_JOB_ID=forged";
    char library[] = "LD_LIBRARY_PATH=/no/such/place";
    char *const own[] = { colour, lang, forged, library, NULL };
    struct act *act = ACT("environment");
    act->type.environment = own;
    setenv("LEAKED_INTO_CHILDREN", "yes", 1);
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    unsetenv("LEAKED_INTO_CHILDREN");
    struct str said = act_result(shop, act);
    const char *const wanted[] = {
        str_format(test_arena(), "PAWL_JOB_ID=%s\\n", act->ticket.job_id).s,
        str_format(test_arena(), "PAWL_EFFECT_KEY=%s\\n", act->ticket.job_id).s,
        str_format(test_arena(), "PAWL_JOB_TYPE=%s\\n", act->job_type).s,
        "PAWL_EXEC_ID=0", "PAWL_ATTEMPT=1\\n",
        "PAWL_ORG_ID=00000000-0000-7000-8000-000000000000\\n",
        "COLOUR=red\\n", "LANG=de_DE.UTF-8\\n", "LD_LIBRARY_PATH=/no/such/place\\n",
        "PATH=/", "HOME=/", "TMPDIR=/",
    };
    for (size_t i = 0; i < countof(wanted); i++)
        expect(strstr(said.s, wanted[i]) != NULL, PLACE(wanted[i]));
    EXPECT(!strstr(said.s, "LEAKED") && !strstr(said.s, "forged") && !strstr(said.s, "C.UTF-8"));
}

TEST_SHOP(EXEC_10_a_command_runs_in_the_directory_of_its_type, .workers = 1)
{
    struct act *act = ACT("directory");
    act->type.directory = "/usr/bin";
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_STR(act_result(shop, act), "\"/usr/bin\"");
}

// ----- failures

TEST_SHOP(OPS_7_the_exit_status_says_whether_it_is_tried_again, .workers = 1)
{
    const struct {
        const char *first, *second, *end;
    } cases[] = {
        { "exit=64", "", "HANDLER_ERROR invalid_input: exit status 64" },
        { "exit=65", "", "HANDLER_ERROR invalid_input: exit status 65" },
        { "exit=66", "", "HANDLER_ERROR invalid_input: exit status 66" },
        { "exit=77", "", "HANDLER_ERROR authorization: exit status 77" },
        { "exit=78", "", "HANDLER_ERROR configuration: exit status 78" },
        { "exit=75", "", "ATTEMPTS_EXHAUSTED transient: exit status 75" },
        { "exit=1", "", "ATTEMPTS_EXHAUSTED transient: exit status 1" },
        { "exit=255", "", "ATTEMPTS_EXHAUSTED transient: exit status 255" },
        { "signal=9", "", "ATTEMPTS_EXHAUSTED transient: ended by SIGKILL" },
        { "err=oh no", "signal=10", "ATTEMPTS_EXHAUSTED transient: ended by SIGUSR1: oh no" },
        { "err=a\nno route\n  \n", "exit=1", "ATTEMPTS_EXHAUSTED transient: no route" },
        { "err=password=hunter2", "exit=77", "HANDLER_ERROR authorization: password=***" },
        { "out={\"error\":{\"class\":\"business_rule\",\"message\":\"sold out\"}}", "exit=1",
          "HANDLER_ERROR business_rule: sold out" },
        { "out={\"error\":{\"class\":\"rate_limited\",\"message\":\"token=abc\"}}", "exit=0",
          "SUCCEEDED" },
        { "out={\"error\":{\"class\":\"rate_limited\"}}\n", "exit=75",
          "ATTEMPTS_EXHAUSTED rate_limited: it did not say why" },
        { "out={\"error\":{\"class\":\"crash\"}}", "exit=65",
          "HANDLER_ERROR invalid_input: exit status 65" },
        { "out={\"error\":\"rate_limited\"}", "exit=65",
          "HANDLER_ERROR invalid_input: exit status 65" },
        { "out=[{\"class\":\"validation\"}]", "exit=65",
          "HANDLER_ERROR invalid_input: exit status 65" },
        { "out={\"error\":{\"class\":7}} and more", "exit=65",
          "HANDLER_ERROR invalid_input: exit status 65" },
    };
    struct act *acts[countof(cases)];
    for (size_t i = 0; i < countof(cases); i++) {
        acts[i] = cases[i].second[0] ? ACT(cases[i].first, cases[i].second) : ACT(cases[i].first);
        act_handle(shop->pawl, acts[i]);
    }
    shop_start(shop);
    for (size_t i = 0; i < countof(cases); i++) {
        act_enqueue(shop, acts[i], "{}");
        expect_str(act_end(shop, acts[i]), str_of(cases[i].end), PLACE(cases[i].first));
    }
}

TEST_SHOP(OPS_7_a_command_that_cannot_be_run_is_a_wrong_configuration, .workers = 1)
{
    char missing[] = "no-such-program", no_program[] = "/etc/passwd";
    struct act *absent = ACT("exit=0"), *plain = ACT("exit=0"), *nowhere = ACT("exit=0");
    absent->run[0] = missing;
    plain->run[0] = no_program;
    nowhere->type.directory = "/no/such/place";
    act_handle(shop->pawl, absent);
    act_handle(shop->pawl, plain);
    act_handle(shop->pawl, nowhere);
    shop_start(shop);
    act_enqueue(shop, absent, "{}");
    act_enqueue(shop, plain, "{}");
    act_enqueue(shop, nowhere, "{}");
    EXPECT_STR(act_end(shop, absent), "HANDLER_ERROR configuration: cannot run no-such-program: "
                                      "No such file or directory");
    EXPECT_STR(act_end(shop, plain), "HANDLER_ERROR configuration: cannot run /etc/passwd: "
                                     "Permission denied");
    EXPECT(str_ends(act_end(shop, nowhere), S(" in /no/such/place: No such file or directory")));
}

TEST_SHOP(OPS_7_too_long_a_result_is_a_resource_limit, .workers = 1, .grace_us = SECONDS(2))
{
    struct act *fills = ACT("fill"), *grows = ACT("bytes=010101010101");
    fills->type.result_bytes_max = 10000;
    grows->type.result_bytes_max = 16;  // as JSON it is longer
    act_handle(shop->pawl, fills);
    act_handle(shop->pawl, grows);
    shop_start(shop);
    act_enqueue(shop, fills, "{}");
    act_enqueue(shop, grows, "{}");
    EXPECT_STR(act_end(shop, fills), "HANDLER_ERROR resource_limit: it printed more than 10000 "
                                     "bytes");
    EXPECT_STR(act_end(shop, grows), "HANDLER_ERROR resource_limit: its result is longer than 16 "
                                     "bytes");
}

TEST_SHOP(OPS_7_the_timeout_of_its_type_ends_a_command, .workers = 1)
{
    struct act *act = ACT("hang");
    act->type.timeout_us = MILLISECONDS(100);
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "ATTEMPTS_EXHAUSTED timeout: it took longer than its timeout "
                                   "and was ended");
}

TEST_SHOP(RUN_1_every_problem_of_a_command_is_named, .workers = 1)
{
    struct pawl_error err = {0};
    char *const none[] = { NULL };
    struct command_type type = {
        .job_type = "act", .run = none, .commit = none, .grace_us = -1, .result_bytes_max = 1 << 30
    };
    EXPECT_REFUSED(PAWL_INVALID, command_handle(shop->pawl, &type, &err));
    const char *const wanted[] = { "run: ", "commit: ", "grace: ", "result: " };
    for (size_t i = 0; i < countof(wanted); i++)
        expect(strstr(err.message, wanted[i]) != NULL, PLACE(wanted[i]));
}

// ----- logs

TEST_SHOP(OPS_12_what_a_command_says_on_stderr_is_its_log, .workers = 1)
{
    struct act *act = ACT("err=one", "err=", "out=3", "err=two \x1b[31mred\x07 \xff.",
                          "err=Authorization: Bearer abcdefghijklmnop", "err-open=unended");
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_STR(act_log(shop, act), "<one><><two  [31mred  ?.><Authorization: Bearer ***>"
                                   "<unended>");
    EXPECT_STR(act_result(shop, act), "3");
}

TEST_SHOP(OPS_12_a_private_key_in_a_log_is_masked_line_by_line, .workers = 1)
{
    struct act *act = ACT("err=-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAgEAAo\n"
                          "-----END RSA PRIVATE KEY-----\nafter");
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_STR(act_log(shop, act), "<***><***><***><***><after>");
}

TEST_SHOP(OPS_12_what_a_command_was_given_as_a_secret_is_masked_wherever_it_says_it, .workers = 1)
{
    char brief[] = "ab", value[] = "correct horse\nbattery";
    char *const secrets[] = { brief, value, NULL };
    struct act *said = ACT("err=with correct horse, battery; correct horses ab", "exit=65");
    struct act *judged = ACT("out={\"error\":{\"class\":\"business_rule\","
                             "\"message\":\"no battery\"}}",
                             "exit=1");
    said->type.secrets = judged->type.secrets = secrets;
    act_handle(shop->pawl, judged);
    act_begin(shop, said);
    EXPECT_STR(act_end(shop, said), "HANDLER_ERROR invalid_input: with ***, ***; ***s ab");
    EXPECT_STR(act_log(shop, said), "<with ***, ***; ***s ab>");
    act_enqueue(shop, judged, "{}");
    EXPECT_STR(act_end(shop, judged), "HANDLER_ERROR business_rule: no ***");
}

TEST_SHOP(OPS_12_a_log_is_bounded_and_says_so, .workers = 1)
{
    struct act *act = ACT("babble=5000");
    act->type.log_bytes_max = 1000;
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    struct str log = act_log(shop, act);
    EXPECT(log.n < 1200);
    EXPECT(str_ends(log, S("<(the log has reached its maximum: the rest is dropped)>")));
}

TEST_SHOP(OPS_12_a_line_of_a_log_is_bounded, .workers = 1)
{
    struct act *act = ACT(str_format(test_arena(), "err=short %0*d", 9000, 1).s, "err=next");
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_STR(act_log(shop, act), "<short ><next>");
}

TEST_SHOP(OPS_12_many_lines_share_few_commits, .workers = 1)
{
    struct act *act = ACT("babble=2000");
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM execution_logs"), 2000);
    EXPECT(pawl_figures(shop->pawl).commits < 100);
}

SQLITE_ONLY(OPS_12_a_log_that_cannot_be_stored_is_dropped_and_counted,
            "a trigger in the words of SQLite")
TEST_SHOP(OPS_12_a_log_that_cannot_be_stored_is_dropped_and_counted, .workers = 1)
{
    struct act *act = ACT("babble=100");
    int64_t before = command_lines_dropped();
    box_sql(&shop->box, "CREATE TRIGGER no_logs BEFORE INSERT ON execution_logs "
                        "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    act_begin(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    EXPECT_STR(act_log(shop, act), "");
    WAIT_FOR(command_lines_dropped() == before + 100);
}
