// Each check of `pawl doctor` that looks at the records: silent on a store that is well, and heard
// when what it looks for is there.
#include "engine/health.h"

#include <stdio.h>
#include <string.h>

#include "engine/api_key.h"
#include "engine/queue.h"
#include "slots.h"

static struct findings look(struct box *box)
{
    struct findings findings = {0};
    OK_FROM_EACH(findings, health_look(tx, &findings, err));
    return findings;
}

static struct finding of(struct box *box, const char *check)
{
    struct findings findings = look(box);
    for (size_t i = 0; i < findings.count; i++)
        if (strcmp(findings.list[i].check, check) == 0)
            return findings.list[i];
    print_error("there is no check %s\n", check);
    expect_failed(PLACE("a check of this name"));
}

#define EXPECT_HEALTH(check, expected)                                          \
    do {                                                                        \
        struct finding finding_ = of(box, (check));                             \
        if (finding_.health != (expected))                                      \
            print_error("%s: %.*s\n", (check), STR(finding_.found));            \
        EXPECT(finding_.health == (expected));                                  \
        EXPECT((finding_.advice[0] != 0) == ((expected) != HEALTH_OK));         \
    } while (0)

TEST_EACH_DB(DOCTOR_an_empty_store_is_well)
{
    struct findings findings = look(box);
    EXPECT_INT(findings.count, 11);
    for (size_t i = 0; i < findings.count; i++)
        EXPECT_HEALTH(findings.list[i].check, HEALTH_OK);
}

TEST_EACH_DB(DOCTOR_leases_that_are_over_and_nobody_took_back)
{
    must_enqueue(box, "report");
    must_claim(box, "A");
    EXPECT_HEALTH("leases", HEALTH_OK);
    pass(box, HOURS(3));
    EXPECT_HEALTH("leases", HEALTH_BAD);
    must_sweep(box);
    EXPECT_HEALTH("leases", HEALTH_OK);
}

TEST_EACH_DB(DOCTOR_jobs_that_are_due_and_not_in_their_queue)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_HEALTH("due", HEALTH_OK);
    pass(box, HOURS(3));
    EXPECT_HEALTH("due", HEALTH_BAD);
    must_sweep(box);
    EXPECT_HEALTH("due", HEALTH_OK);
}

TEST_EACH_DB(DOCTOR_jobs_that_are_committed_and_not_finished)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    EXPECT_HEALTH("commits", HEALTH_OK);
    pass(box, MINUTES(11));
    EXPECT_HEALTH("commits", HEALTH_WARN);
}

TEST_EACH_DB(DOCTOR_queues_that_are_paused_for_long)
{
    must_enqueue(box, "report");
    OK(queue_pause(tx, S("q:default"), err));  // the org's share
    EXPECT_HEALTH("pauses", HEALTH_OK);
    pass(box, DAYS(2));
    EXPECT_HEALTH("pauses", HEALTH_WARN);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_HEALTH("pauses", HEALTH_OK);
    box->caller.org_id = S("");
    OK(queue_pause(tx, S("q:default"), err));  // all of it
    box->caller.org_id = DEFAULT_ORG;
    pass(box, DAYS(2));
    EXPECT_HEALTH("pauses", HEALTH_WARN);
}

TEST_EACH_DB(DOCTOR_schedules_that_nobody_runs_slots_that_are_stale_or_were_missed)
{
    struct schedule schedule = every_five_minutes();
    schedule.coalesce = false;
    put(box, &schedule);
    tick(box);
    EXPECT_HEALTH("schedules", HEALTH_OK);
    to_next_slot(box);
    pass(box, MINUTES(3));
    EXPECT_HEALTH("schedules", HEALTH_BAD);
    tick(box);
    EXPECT_HEALTH("schedules", HEALTH_OK);
    EXPECT_HEALTH("slots", HEALTH_OK);
    pass(box, DAYS(1));
    EXPECT_HEALTH("slots", HEALTH_WARN);
    EXPECT_HEALTH("missed", HEALTH_OK);
    tick(box);
    EXPECT_HEALTH("missed", HEALTH_WARN);
}

TEST_EACH_DB(DOCTOR_dead_letters_that_are_open)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    EXPECT_HEALTH("letters", HEALTH_OK);
    must_fail(box, &lease, ERROR_VALIDATION);
    pass(box, SECONDS(1));
    EXPECT_HEALTH("letters", HEALTH_WARN);
}

static void make_key(struct box *box, int64_t ends_in_us)
{
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key_request request = {
        .world = &box->world.world,
        .env = S("live"),
        .org_id = DEFAULT_ORG,
        .role = ROLE_WORKER,
        .expires_at = world_wall(&box->world.world) + ends_in_us,
    };
    OK(key_create(tx, &request, &key, text, err));
}

TEST_EACH_DB(DOCTOR_keys_that_end_soon)
{
    make_key(box, DAYS(30));
    EXPECT_HEALTH("keys", HEALTH_OK);
    pass(box, DAYS(17));
    EXPECT_HEALTH("keys", HEALTH_WARN);
    pass(box, DAYS(20));  // it has ended: nobody misses it any more
    EXPECT_HEALTH("keys", HEALTH_OK);
}

TEST_EACH_DB(DOCTOR_nobody_is_alive_or_somebody_fell_silent)
{
    struct instance one = { .name = S("one"), .boot_id = S("boot-1") };
    EXPECT_HEALTH("processes", HEALTH_OK);  // nothing is to be done
    must_enqueue(box, "report");
    EXPECT_HEALTH("processes", HEALTH_BAD);
    OK(instance_enter(tx, &one, true, err));
    EXPECT_HEALTH("processes", HEALTH_OK);
    pass(box, HOURS(1));
    EXPECT_HEALTH("processes", HEALTH_BAD);
    struct instance two = { .name = S("two"), .boot_id = S("boot-2") };
    OK(instance_enter(tx, &two, true, err));
    EXPECT_HEALTH("processes", HEALTH_WARN);
    EXPECT(strstr(of(box, "processes").found.s, "1 alive; one fell silent") != NULL);
    struct instance three = { .name = S("three"), .boot_id = S("boot-3") };
    OK(instance_enter(tx, &three, true, err));
    pass(box, HOURS(1));  // all three are silent, and the newest is told
    OK(instance_enter(tx, &two, true, err));
    EXPECT(strstr(of(box, "processes").found.s, "1 alive; three fell silent") != NULL);
    OK(instance_leave(tx, &three, err));
    pass(box, DAYS(8));
    OK(instance_enter(tx, &two, true, err));
    EXPECT_HEALTH("processes", HEALTH_OK);  // so long ago it is of no interest
    OK(instance_enter(tx, &one, true, err));
    OK(instance_leave(tx, &one, err));  // it says goodbye
    EXPECT_HEALTH("processes", HEALTH_OK);
}

TEST_EACH_DB(DOCTOR_types_that_nobody_takes)
{
    must_enqueue(box, "report");
    must_enqueue(box, "mail");
    EXPECT_HEALTH("workers", HEALTH_OK);  // not for long
    pass(box, MINUTES(2));
    EXPECT_HEALTH("workers", HEALTH_BAD);
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
    EXPECT(strstr(of(box, "workers").found.s, "type mail") != NULL);
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
    must_enqueue(box, "report");
    must_enqueue(box, "mail");
    pass(box, MINUTES(2));
    EXPECT_HEALTH("workers", HEALTH_OK);  // both types are taken, these two wait for their turn
}

TEST(DOCTOR_a_disk_is_full_before_it_is)
{
    const int64_t gib = (int64_t)1 << 30;
    EXPECT(health_of_room(50 * gib, 100 * gib) == HEALTH_OK);
    EXPECT(health_of_room(9 * gib, 100 * gib) == HEALTH_WARN);
    EXPECT(health_of_room(gib - 1, 4 * gib) == HEALTH_WARN);
    EXPECT(health_of_room(gib / 20, 100 * gib) == HEALTH_BAD);
}
