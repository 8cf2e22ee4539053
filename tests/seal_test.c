// The sealed audit trail: whatever is done to it behind Pawl's back is found and named.
#include "engine/seal.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"

enum { FINDINGS_MAX = 8 };

struct report {
    struct seals_checked checked;
    struct seal_finding at[FINDINGS_MAX];
    char what[FINDINGS_MAX][200];
};

static void note(void *self, const struct seal_finding *finding)
{
    struct report *report = self;
    size_t place = (size_t)report->checked.findings - 1;
    if (place >= FINDINGS_MAX)
        return;
    snprintf(report->what[place], sizeof report->what[place], "%s", finding->what);
    report->at[place] = *finding;
}

static struct report check_with(struct box *box, struct str head)
{
    struct report report = {0};
    struct pawl_error err = {0};
    struct seal_check check = { .self = &report, .found = note, .head = head };
    MUST(seals_check(box->db, &check, &report.checked, &err));
    return report;
}

static struct report check(struct box *box)
{
    return check_with(box, S(""));
}

static size_t seal_some(struct box *box, size_t max, bool all)
{
    struct seals seals = {0};
    OK(seals_make(tx, max, all, &seals, err) && seals_put(tx, &seals, err));
    return seals.count;
}

// Two jobs that ended, under three seals: the second begins with event 4.
static void make_trail(struct box *box)
{
    box->damaged = true;  // most tests damage it
    must_enqueue(box, "one");
    seal_some(box, 1, true);
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    must_enqueue(box, "two");
    seal_some(box, 1, true);
    lease = must_start(box, "w");
    must_fail(box, &lease, ERROR_VALIDATION);
    seal_some(box, 1, true);
    struct report report = check(box);
    EXPECT_INT(report.checked.findings, 0);
    EXPECT_INT(report.checked.seals, 3);
    EXPECT_INT(report.checked.unsealed, 0);
    box_sql(box, "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete;"
                 "DROP TRIGGER jobs_no_update; DROP TRIGGER audit_seals_kept;"
                 "DROP TRIGGER audit_seals_stay");
}

TEST_EACH_DB(OPS_11_the_audit_trail_is_sealed_in_the_order_it_was_written)
{
    for (int i = 0; i < 3; i++)
        must_enqueue(box, "report");
    EXPECT_INT(seal_some(box, 8, false), 0);  // too new, and too few
    pass(box, SEAL_AFTER_US);
    EXPECT_INT(seal_some(box, 8, false), 1);
    EXPECT_INT(seal_some(box, 8, true), 0);   // there is nothing left
    EXPECT_INT(box_number(box, "SELECT events - (SELECT count(*) FROM audit_events) FROM"
                               " audit_seals WHERE first_id = 1 AND seal = 1"),
               0);
    struct report report = check(box);
    EXPECT_INT(report.checked.findings, 0);
    must_enqueue(box, "report");
    EXPECT_INT(check(box).checked.unsealed, 2);
    EXPECT_INT(check(box).checked.findings, 0);
}

TEST_EACH_DB(OPS_11_many_events_make_whole_seals_and_none_is_left_out)
{
    for (int i = 0; i < 700; i++)
        must_enqueue(box, "report");
    EXPECT_INT(seal_some(box, 2, false), 2);
    EXPECT_INT(seal_some(box, 8, false), 0);  // 401 that have not waited
    EXPECT_INT(seal_some(box, 8, true), 1);
    struct report report = check(box);
    EXPECT_INT(report.checked.findings, 0);
    EXPECT_INT(report.checked.events, box_number(box, "SELECT count(*) FROM audit_events"));
    EXPECT_INT(box_number(box, "SELECT max(events) FROM audit_seals"), SEAL_EVENTS_MAX);
}

// ----- damage

static const struct tampering {
    const char *name, *sql;
    int64_t seal, event;  // that must be named; 0: none in particular
    const char *what;
} tamperings[] = {
    { "its org", "UPDATE audit_events SET org = org + 1 WHERE id = 5", 2, 5, "changed" },
    { "its job", "UPDATE audit_events SET job = job + 1 WHERE id = 5", 2, 5, "changed" },
    { "its kind", "UPDATE audit_events SET event = 9 WHERE id = 5", 2, 5, "changed" },
    { "an unknown kind", "UPDATE audit_events SET event = 99 WHERE id = 5", 2, 5, "changed" },
    { "its attempt", "UPDATE audit_events SET attempt = 7 WHERE id = 5", 2, 5, "changed" },
    { "its time", "UPDATE audit_events SET at = at + 1 WHERE id = 5", 2, 5, "changed" },
    { "its kind of actor", "UPDATE audit_events SET actor_type = 2 WHERE id = 5", 2, 5,
      "changed" },
    { "its actor", "UPDATE audit_events SET actor_id = 'me' WHERE id = 5", 2, 5, "changed" },
    { "its request", "UPDATE audit_events SET request_id = 'x' WHERE id = 5", 2, 5, "changed" },
    { "its correlation", "UPDATE audit_events SET correlation_id = 'x' WHERE id = 5", 2, 5,
      "changed" },
    { "its detail", "UPDATE audit_events SET detail = '{}' WHERE id = 5", 2, 5, "changed" },
    { "its subject",
      "PRAGMA ignore_check_constraints = ON; UPDATE audit_events SET subject = 'x' WHERE id = 5", 2,
      5, "changed" },
    { "the last event", "UPDATE audit_events SET at = at + 1 WHERE id = (SELECT max(id) FROM"
                        " audit_events)", 3, -1, "changed" },
    { "the job's creator, which its events have",
      "UPDATE jobs SET actor_id = 'me' WHERE id = (SELECT min(id) FROM jobs)", 1, -1, "changed" },
    { "the first event goes", "DELETE FROM audit_events WHERE id = 1", 1, 0, "removed" },
    { "one in the middle goes", "DELETE FROM audit_events WHERE id = 5", 2, 0,
      "between event 4 and event 6" },
    { "the last goes", "DELETE FROM audit_events WHERE id = (SELECT max(id) FROM audit_events)", 3,
      0, "removed after" },
    { "one is put in", "INSERT INTO audit_events SELECT 0, org, job, event, attempt, at,"
                       " actor_type, actor_id, request_id, correlation_id, detail, subject FROM"
                       " audit_events WHERE id = 5", 1, -1, "put in" },
    { "one is put in before the first",
      "INSERT INTO audit_events SELECT -1, org, job, event, attempt, at, actor_type, actor_id,"
      " request_id, correlation_id, detail, subject FROM audit_events WHERE id = 2", 1, -1,
      "put in" },
    { "one is put in after the last",
      "INSERT INTO audit_events SELECT id + 1000, org, job, event, attempt, at, actor_type,"
      " actor_id, request_id, correlation_id, detail, subject FROM audit_events WHERE id = 5;"
      "UPDATE audit_seals SET last_id = 1005 WHERE seal = 3", 3, -1, "put in" },
    { "one is put in and its neighbour changed",
      "UPDATE audit_events SET at = at + 1 WHERE id = 1; INSERT INTO audit_events SELECT 0, org,"
      " job, event, attempt, at, actor_type, actor_id, request_id, correlation_id, detail, subject"
      " FROM audit_events WHERE id = 5", 1, -1, "changed" },
    { "one is put in and the last of the seal changed",
      "UPDATE audit_events SET at = at + 1 WHERE id = (SELECT last_id FROM audit_seals WHERE seal ="
      " 1); INSERT INTO audit_events SELECT 0, org, job, event, attempt, at, actor_type, actor_id,"
      " request_id, correlation_id, detail, subject FROM audit_events WHERE id = 5", 1, -1,
      "changed" },
    { "events go, and their seals say that they were pruned",
      "DELETE FROM audit_events WHERE id <= (SELECT last_id FROM audit_seals WHERE seal = 2);"
      "UPDATE audit_seals SET pruned_at = sealed_at + 1, marks = NULL WHERE seal <= 2", 1, 0,
      "no event tells" },
    { "all events go, and their seals say that they were pruned",
      "DELETE FROM audit_events; UPDATE audit_seals SET pruned_at = sealed_at + 1, marks = NULL", 3,
      0, "no event tells" },
    { "two change places",
      "UPDATE audit_events SET id = -5 WHERE id = 5; UPDATE audit_events SET id = 5 WHERE id = 6;"
      "UPDATE audit_events SET id = 6 WHERE id = -5", 2, 5, "changed" },
    { "one is put in the place of another that went",
      "DELETE FROM audit_events WHERE id = 5; INSERT INTO audit_events SELECT 5, org, job, event,"
      " attempt, at, actor_type, actor_id, request_id, correlation_id, detail, subject FROM"
      " audit_events WHERE id = 6", 2, 5, "changed" },
    { "the first seal goes", "DELETE FROM audit_seals WHERE seal = 1", 1, 0, "seal was removed" },
    { "a seal in the middle goes", "DELETE FROM audit_seals WHERE seal = 2", 2, 0,
      "seal was removed" },
    { "its first id", "UPDATE audit_seals SET first_id = first_id - 1 WHERE seal = 2", 2, 0,
      "seal" },
    { "its last id", "UPDATE audit_seals SET last_id = last_id + 1 WHERE seal = 2", 2, 0, "seal" },
    { "its number of events", "UPDATE audit_seals SET events = events + 1 WHERE seal = 2", 2, 0,
      "seal" },
    { "its newest time", "UPDATE audit_seals SET newest_at = 1 WHERE seal = 2", 2, 0, "seal" },
    { "its own time", "UPDATE audit_seals SET sealed_at = 1 WHERE seal = 2", 2, 0, "seal" },
    { "the hash of its events",
      "UPDATE audit_seals SET contents = replace(contents, substr(contents, 1, 1), 'x') WHERE"
      " seal = 2", 2, 0, "seal" },
    { "its hash", "UPDATE audit_seals SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE"
                  " seal = 2", 2, 0, "seal" },
    { "the hash of the newest",
      "UPDATE audit_seals SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE seal = 3", 3, 0,
      "seal" },
    { "a mark of an event", "UPDATE audit_seals SET marks = 'xxxxxx' || substr(marks, 7) WHERE"
                            " seal = 2", 2, -1, "mark" },
    { "many are put in", "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE"
                         " i < 3000) INSERT INTO audit_events (id, org, job, event, attempt, at)"
                         " SELECT -i, org, job, event, attempt, at FROM n, audit_events WHERE"
                         " id = 5", 1, 0, "far more events" },
    { "more events than a seal can have", "UPDATE audit_seals SET events = 100000 WHERE seal = 2",
      2, 0, "so many events" },
    { "fewer events than a seal can have", "PRAGMA ignore_check_constraints = ON;"
                                           "UPDATE audit_seals SET events = 0 WHERE seal = 2",
      2, 0, "so many events" },
    { "a later seal that says it was pruned", "UPDATE audit_seals SET pruned_at = sealed_at,"
                                              " marks = NULL WHERE seal = 2", 2, 0,
      "before the seals before it" },
    { "a seal that says it was pruned", "UPDATE audit_seals SET pruned_at = sealed_at, marks ="
                                        " NULL WHERE seal = 1", 1, 0, "no event tells" },
    { "events that go with a seal that says so",
      "UPDATE audit_seals SET pruned_at = sealed_at, marks = NULL WHERE seal = 1;"
      "DELETE FROM audit_events WHERE id <= (SELECT last_id FROM audit_seals WHERE seal = 1)", 1,
      0, "no event tells" },
};

static bool names(const struct report *report, const struct tampering *t)
{
    for (size_t i = 0; i < FINDINGS_MAX && i < (size_t)report->checked.findings; i++)
        if ((t->seal == 0 || report->at[i].seal == t->seal)
            && (t->event <= 0 || report->at[i].event == t->event)
            && strstr(report->what[i], t->what))
            return true;
    return false;
}

static void tamper(const struct tampering *t)
{
    struct box box;
    box_open(&box);
    make_trail(&box);
    box_sql(&box, t->sql);
    struct report report = check(&box);
    if (!names(&report, t)) {
        print_error("%s: %lld findings\n", t->name, (long long)report.checked.findings);
        for (size_t i = 0; i < FINDINGS_MAX && i < (size_t)report.checked.findings; i++)
            print_error("  seal %lld event %lld: %s\n", (long long)report.at[i].seal,
                        (long long)report.at[i].event, report.what[i]);
    }
    EXPECT(names(&report, t));
    box_close(&box);
}

SQLITE_ONLY(OPS_11_every_kind_of_tampering_with_the_trail_is_found_and_named,
            "triggers in the words of SQLite")
TEST(OPS_11_every_kind_of_tampering_with_the_trail_is_found_and_named)
{
    for (size_t i = 0; i < countof(tamperings); i++)
        tamper(&tamperings[i]);
}

// What is cut off at the end is found by a hash that was kept elsewhere, and by nothing else.
SQLITE_ONLY(OPS_11_a_chain_that_was_cut_off_is_found_by_the_hash_that_was_kept,
            "triggers in the words of SQLite")
TEST_EACH_DB(OPS_11_a_chain_that_was_cut_off_is_found_by_the_hash_that_was_kept)
{
    make_trail(box);
    struct report before = check(box);
    struct str head = str_dup(test_arena(), str_of(before.checked.head_hash));
    EXPECT_INT(check_with(box, head).checked.findings, 0);
    box_sql(box, "DELETE FROM audit_events WHERE id > (SELECT last_id FROM audit_seals WHERE"
                 " seal = 2); DELETE FROM audit_seals WHERE seal = 3");
    EXPECT_INT(check(box).checked.findings, 0);
    struct report cut = check_with(box, head);
    EXPECT_INT(cut.checked.findings, 1);
    EXPECT(strstr(cut.what[0], "cut off") != NULL);
}

TEST_EACH_DB(OPS_11_events_and_seals_cannot_be_changed_by_way_of_sql)
{
    must_enqueue(box, "report");
    seal_some(box, 1, true);
    static const char *const tries[] = {
        "UPDATE audit_events SET at = 1",
        "DELETE FROM audit_events",
        "UPDATE audit_seals SET hash = contents",
        "DELETE FROM audit_seals",
    };
    for (size_t i = 0; i < countof(tries); i++) {
        struct tx tx = {0};
        struct pawl_error err = {0};
        box_begin(box, &tx);
        EXPECT(!tx_execute(&tx, tries[i], &err));
        tx_end(&tx);
    }
}

// A check is done in pieces of 20 seals.
TEST_EACH_DB(OPS_11_a_chain_of_many_seals_is_checked_to_its_end)
{
    for (int i = 0; i < 45; i++) {
        must_enqueue(box, "report");
        seal_some(box, 1, true);
    }
    struct report report = check(box);
    EXPECT_INT(report.checked.findings, 0);
    EXPECT_INT(report.checked.seals, 45);
    EXPECT_INT(report.checked.unsealed, 0);
}

// ----- two at once

TEST_EACH_DB(OPS_11_of_two_sealers_one_seals_and_the_other_is_refused)
{
    struct seals first = {0}, second = {0};
    must_enqueue(box, "report");
    OK(seals_make(tx, 8, true, &first, err));
    must_enqueue(box, "report");
    OK(seals_make(tx, 8, true, &second, err));
    OK(seals_put(tx, &first, err));
    REFUSED(PAWL_CONFLICT, seals_put(tx, &second, err));
    EXPECT_INT(seal_some(box, 8, true), 1);
    EXPECT_INT(check(box).checked.findings, 0);
    EXPECT_INT(check(box).checked.unsealed, 0);
}
