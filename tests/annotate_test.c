// Annotations: notes of people in the audit trail.
#include "engine/annotate.h"

#include <stdio.h>

#include "engine/queue.h"
#include "engine/retention.h"
#include "engine/seal.h"
#include "slots.h"

static struct audit_event must_annotate(struct box *box, struct annotation annotation)
{
    struct audit_event made = {0};
    OK(audit_annotate(tx, &annotation, &made, err));
    return made;
}

static int64_t newest(struct box *box)
{
    return box_number(box, "SELECT max(id) FROM audit_events");
}

static void seal_all(struct box *box)
{
    struct seals seals = { .more = true };
    while (seals.more)
        OK(seals_make(tx, 20, true, &seals, err) && seals_put(tx, &seals, err));
}

static int64_t findings(struct box *box)
{
    struct seals_checked checked;
    struct pawl_error err = {0};
    MUST(seals_check(box->db, &(struct seal_check){0}, &checked, &err));
    return checked.findings;
}

// An event of no job.
static int64_t pause_queue(struct box *box)
{
    OK(queue_pause(tx, S("q:default"), err));
    return newest(box);
}

TEST_EACH_DB(OPS_11_a_note_to_a_job_is_an_event_in_its_trail)
{
    struct job job = must_enqueue(box, "report");
    struct annotation note = { .job = job.id, .text = S("asked the customer, he waits") };
    struct audit_event made = must_annotate(box, note);
    EXPECT_INT(made.id, newest(box));
    EXPECT_INT(made.event, EVENT_JOB_ANNOTATED);
    EXPECT_INT(made.job.high, job.id.high);
    EXPECT_STR(made.actor_id, "tester");
    EXPECT_STR(made.detail, "{\"text\":\"asked the customer, he waits\"}");
    EXPECT_INT((int64_t)events(box, job.id, EVENT_JOB_ANNOTATED), 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_QUEUED);
}

TEST_EACH_DB(OPS_11_a_note_to_an_event_names_it_and_is_where_the_event_is)
{
    struct job job = must_enqueue(box, "report");
    int64_t enqueued = newest(box);
    struct audit_event made = must_annotate(box, (struct annotation){ .event = enqueued,
                                                                      .text = S("late") });
    EXPECT_INT(made.job.high, job.id.high);
    EXPECT_STR(made.detail, "{\"event_id\":3,\"text\":\"late\"}");
    int64_t paused = pause_queue(box);
    made = must_annotate(box, (struct annotation){ .event = paused, .text = S("for the move") });
    EXPECT_INT(made.job.high, 0);
    struct str subject = str_format(test_arena(), "event:%lld", (long long)paused);
    EXPECT(str_eq(made.subject, subject));
    // A note can be annotated like any other event.
    must_annotate(box, (struct annotation){ .event = made.id, .text = S("done") });
}

TEST_EACH_DB(OPS_11_nobody_annotates_what_he_may_not_see)
{
    struct contract contract = contract_for(box, "report");
    contract.project_id = S("0198c7a2-5b1e-7000-8000-0000000000aa");
    struct job job = must_add(box, &contract);
    int64_t enqueued = newest(box), paused = pause_queue(box);
    struct audit_event made;
    struct annotation of_job = { .job = job.id, .text = S("x") };
    struct annotation of_event = { .event = enqueued, .text = S("x") };
    struct annotation of_queue = { .event = paused, .text = S("x") };
    struct caller owner = box->caller, limited = owner;
    struct str other = S("0198c7a2-5b1e-7000-8000-0000000000bb");
    limited.projects = &other;
    limited.project_count = 1;
    box->caller = limited;
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_job, &made, err));
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_event, &made, err));
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_queue, &made, err));
    box->caller = owner;
    box->caller.org_id = S("0198c7a2-5b1e-7000-8000-3c1f0a9d2e44");
    must_enqueue(box, "theirs");  // so that the org is known
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_job, &made, err));
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_event, &made, err));
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_queue, &made, err));
    box->caller = owner;
    static const int64_t none[] = { 0, -1, INT64_MIN, INT64_MAX, 1000000 };
    for (size_t i = 0; i < countof(none); i++) {
        struct annotation of_none = { .event = none[i], .text = S("x") };
        REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &of_none, &made, err));
    }
}

// The lead is of the whole store; a queue that was paused is of the org whose caller asked.
TEST_EACH_DB(OPS_11_who_is_of_no_org_annotates_events_of_any_and_of_none)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    int64_t paused = pause_queue(box);
    to_next_slot(box);
    tick(box);
    int64_t led = box_number(box, "SELECT max(id) FROM audit_events"
                                  " WHERE subject = 'leader:scheduler'");
    box->caller.org_id = S("");
    struct audit_event made = must_annotate(box, (struct annotation){ .event = led,
                                                                      .text = S("moved") });
    EXPECT_INT(made.org_id.n, 0);
    made = must_annotate(box, (struct annotation){ .event = paused, .text = S("for that") });
    EXPECT_STR(made.org_id, "00000000-0000-7000-8000-000000000000");
}

TEST_EACH_DB(OPS_11_a_note_is_text_within_its_bounds_and_without_secrets)
{
    struct job job = must_enqueue(box, "report");
    static char long_text[ANNOTATION_BYTES_MAX + 2];
    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = 'x';
    const struct str too_long = { long_text, ANNOTATION_BYTES_MAX + 1 };
    const struct str bad[] = { S(""), S("\xff"), { "a\0b", 3 }, too_long };
    struct audit_event made;
    for (size_t i = 0; i < countof(bad); i++) {
        struct annotation note = { .job = job.id, .text = bad[i] };
        REFUSED(PAWL_INVALID, audit_annotate(tx, &note, &made, err));
    }
    must_annotate(box, (struct annotation){ job.id, 0, { long_text, ANNOTATION_BYTES_MAX } });
    struct annotation odd = { .job = job.id, .text = S("\"hi\"\npassword=hunter2\x1b[2J") };
    made = must_annotate(box, odd);
    EXPECT_STR(made.detail, "{\"text\":\"\\\"hi\\\"\\npassword=***\"}");
}

TEST_EACH_DB(OPS_11_a_note_that_is_changed_or_removed_is_found)
{
    static const char *const tamperings[] = {
        "UPDATE audit_events SET detail = '{\"text\":\"all is well\"}' WHERE event = 14",
        "UPDATE audit_events SET actor_id = 'somebody' WHERE event IN"
        " (SELECT event FROM audit_event_names WHERE name = 'audit.annotated')",
        "UPDATE audit_events SET subject = 'event:1' WHERE event IN"
        " (SELECT event FROM audit_event_names WHERE name = 'audit.annotated')",
        "DELETE FROM audit_events WHERE event = 14",
    };
    struct job job = must_enqueue(box, "report");
    must_annotate(box, (struct annotation){ .job = job.id, .text = S("all is lost") });
    must_annotate(box, (struct annotation){ .event = pause_queue(box), .text = S("why?") });
    seal_all(box);
    EXPECT_INT(findings(box), 0);
    box->damaged = true;
    for (size_t i = 0; i < countof(tamperings); i++) {
        box_sql(box, on_postgres() ? "ALTER TABLE audit_events DISABLE TRIGGER USER"
                                   : "DROP TRIGGER IF EXISTS audit_no_update;"
                                     "DROP TRIGGER IF EXISTS audit_no_delete");
        box_sql(box, "CREATE TABLE IF NOT EXISTS kept AS SELECT * FROM audit_events");
        box_sql(box, tamperings[i]);
        EXPECT(findings(box) > 0);
        box_sql(box, "DELETE FROM audit_events; INSERT INTO audit_events SELECT * FROM kept");
        EXPECT_INT(findings(box), 0);
    }
}

TEST_EACH_DB(OPS_11_an_event_is_annotated_after_its_job_was_removed)
{
    struct job job = must_enqueue(box, "report");
    int64_t enqueued = newest(box);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    pass(box, DAYS(40));
    struct removing r = { .keep = { .jobs_us = DAYS(30), .audit_us = DAYS(400) } };
    while (!r.done)
        OK_FROM(r, retention_step(tx, &r, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
    struct annotation note = { .job = job.id, .text = S("it was the last of its kind") };
    struct audit_event made;
    REFUSED(PAWL_NOT_FOUND, audit_annotate(tx, &note, &made, err));
    note = (struct annotation){ .event = enqueued, .text = note.text };
    made = must_annotate(box, note);
    EXPECT_STR(made.subject, "event:3");
}
