// Erasing on request: nothing of it is left in any file of the store, and all else is.
#include "engine/erase.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/log.h"
#include "engine/schedule.h"
#include "engine/seal.h"
#include "fixture.h"

#define SECRET "ada-lovelace-1815"

static bool file_has(const char *path, const char *needle)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return fd >= 0 && (close(fd), false);
    char *bytes = malloc((size_t)file.st_size + 1);
    ssize_t n = bytes ? read(fd, bytes, (size_t)file.st_size) : 0;
    bool has = n > 0 && memmem(bytes, (size_t)n, needle, strlen(needle)) != NULL;
    free(bytes);
    close(fd);
    return has;
}

static bool store_has(struct box *box, const char *needle)
{
    bool has = false;
    DIR *directory = opendir(box->directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        has |= file_has(str_format(test_arena(), "%s/%s", box->directory, entry->d_name).s, needle);
    if (directory)
        closedir(directory);
    return has;
}

static struct str big_payload(void)
{
    struct buf text = buf_new(test_arena(), 1 << 20);
    buf_addf(&text, "{\"name\":\"%s\",\"more\":\"", SECRET);
    for (int i = 0; i < 3000; i++)
        buf_addf(&text, "%s ", SECRET);
    buf_addf(&text, "\"}");
    return buf_str(&text);
}

// A job that has the secret wherever a job can have it.
static struct job telling_job(struct box *box, struct str payload)
{
    struct contract contract = contract_for(box, "tell");
    contract.payload = payload;
    struct job job = must_add(box, &contract);
    struct lease lease = must_start(box, "w");
    struct execution e;
    struct log_line line = { .text = S("said " SECRET), .at = 1 };
    OK(log_append(tx, lease.execution, &line, 1, err));
    struct work_error error = {
        .class = ERROR_VALIDATION,
        .message = S("no " SECRET),
        .detail = S("{\"a\":\"" SECRET "\"}"),
    };
    OK(execution_fail(tx, &lease, &error, &e, err));
    return job;
}

static void scrub(struct box *box, bool compact)
{
    struct pawl_error err = {0};
    MUST(db_scrub(box->db, compact, &err));
}

static void add_neighbours(struct box *box)
{
    struct contract contract = contract_for(box, "neighbour");
    contract.hold = true;
    for (int n = 0; n < 20; n++)
        must_add(box, &contract);
}

SQLITE_ONLY(OPS_25_what_was_erased_is_in_no_file_of_the_store, "looks into the file")
TEST_EACH_DB(OPS_25_what_was_erased_is_in_no_file_of_the_store)
{
    struct str payloads[] = { S("{\"name\":\"" SECRET "\"}"), big_payload() };
    for (size_t i = 0; i < countof(payloads); i++) {
        add_neighbours(box);
        struct job job = telling_job(box, payloads[i]), erased;
        add_neighbours(box);
        EXPECT(store_has(box, SECRET));
        OK(job_erase(tx, job.id, &erased, err));
        scrub(box, true);
        EXPECT(!store_has(box, SECRET));
        EXPECT(str_eq(erased.contract.payload, ERASED_PAYLOAD));
        EXPECT_INT((int64_t)must_load(box, job.id).state, (int64_t)JOB_FAILED);
        EXPECT_INT((int64_t)events(box, job.id, EVENT_JOB_ERASED), 1);
        OK(job_erase(tx, job.id, &erased, err));
        EXPECT_INT((int64_t)events(box, job.id, EVENT_JOB_ERASED), 1);
    }
}

SQLITE_ONLY(OPS_25_results_and_steps_are_erased_too, "looks into the file")
TEST_EACH_DB(OPS_25_results_and_steps_are_erased_too)
{
    struct job job = must_enqueue(box, "tell"), erased;
    struct lease lease = must_start(box, "w");
    struct execution e;
    struct step step;
    OK(step_put(tx, &lease, S("one"), S("{\"a\":\"" SECRET "\"}"), &step, err));
    OK(execution_commit(tx, &lease,
                        &(struct commit){ .result = S("{\"b\":\"" SECRET "\"}"), .done = true },
                        &e, err));
    EXPECT(store_has(box, SECRET));
    OK(job_erase(tx, job.id, &erased, err));
    scrub(box, false);
    EXPECT(!store_has(box, SECRET));
    EXPECT_INT((int64_t)erased.state, (int64_t)JOB_SUCCEEDED);
    EXPECT_INT((int64_t)erased.result.n, 0);
}

TEST_EACH_DB(OPS_25_several_jobs_are_erased_together)
{
    struct job one = telling_job(box, S("{}")), other = telling_job(box, S("{}")), erased;
    OK(job_erase(tx, one.id, &erased, err) && job_erase(tx, other.id, &erased, err));
    EXPECT_INT((int64_t)events(box, one.id, EVENT_JOB_ERASED), 1);
    EXPECT_INT((int64_t)events(box, other.id, EVENT_JOB_ERASED), 1);
}

// Rows that were written more than once, with progress or with a result that was committed before
// its job was done, stood elsewhere in the file before.
TEST_EACH_DB(OPS_25_a_store_that_is_compacted_has_no_older_copy_of_what_was_erased)
{
    for (int i = 0; i < 50; i++)
        must_enqueue(box, "tell");
    struct lease leases[50];
    for (int i = 0; i < 50; i++) {
        struct execution e;
        leases[i] = must_start(box, "w");
        OK(execution_progress(tx, &leases[i], &(struct progress){ 50, S("with " SECRET) }, &e,
                              err));
        OK(execution_commit(tx, &leases[i],
                            &(struct commit){ .result = S("{\"b\":\"" SECRET "\"}") }, &e, err));
    }
    for (int i = 0; i < 50; i++) {
        struct execution e;
        struct job job;
        OK(execution_done(tx, &leases[i], &e, err));
        OK(job_erase(tx, e.job, &job, err));
    }
    scrub(box, true);
    EXPECT(!store_has(box, SECRET));
}

TEST_EACH_DB(OPS_25_a_job_that_has_not_ended_is_not_erased)
{
    struct job waits = must_enqueue(box, "report"), job;
    REFUSED(PAWL_CONFLICT, job_erase(tx, waits.id, &job, err));
    must_start(box, "w");
    REFUSED(PAWL_CONFLICT, job_erase(tx, waits.id, &job, err));
}

TEST_EACH_DB(OPS_25_an_erased_job_is_not_run_again)
{
    struct job job = must_enqueue(box, "report"), erased, again;
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    OK(job_erase(tx, job.id, &erased, err));
    REFUSED(PAWL_CONFLICT, job_retry(tx, job.id, &again, err));
}

TEST_EACH_DB(OPS_25_outside_of_an_erasure_nothing_can_be_overwritten)
{
    static const char *const tries[] = {
        "UPDATE jobs SET payload = '{}'",
        "UPDATE outcomes SET result = '1'",
        "UPDATE executions SET error_message = 'x'",
        "DELETE FROM jobs",
    };
    struct job job = must_enqueue(box, "report"), erased;
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    OK(job_erase(tx, job.id, &erased, err));
    for (size_t i = 0; i < countof(tries); i++) {
        struct tx tx = {0};
        struct pawl_error err = {0};
        box_begin(box, &tx);
        EXPECT(!tx_execute(&tx, tries[i], &err));
        tx_end(&tx);
    }
}

TEST_EACH_DB(OPS_10_another_orgs_job_is_not_erased)
{
    struct job job = must_enqueue(box, "report"), erased;
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    box->caller.org_id = S("00000000-0000-7000-8000-0000000000aa");
    REFUSED(PAWL_NOT_FOUND, job_erase(tx, job.id, &erased, err));
}

// ----- an org

#define OTHER S("00000000-0000-7000-8000-0000000000bb")

static void fill_org(struct box *box)
{
    struct schedule schedule = {
        .name = S("nightly"), .job_type = S("note"), .every_us = HOURS(1), .coalesce_said = true,
        .misfire_grace_us = HOURS(1), .max_instances = 1, .expected_us = HOURS(1),
        .payload = S("{\"name\":\"" SECRET "\"}"),
    };
    enum schedule_put what;
    struct key key;
    struct key_request request = {
        .world = &box->world.world,
        .env = S("live"),
        .org_id = OTHER,
        .role = ROLE_WORKER,
        .name = S("key of " SECRET),
    };
    char secret[KEY_TEXT_BYTES_MAX + 1];
    box->caller.org_id = OTHER;
    struct job failed = telling_job(box, big_payload()), again;
    OK(job_retry(tx, failed.id, &again, err));
    OK(schedule_put(tx, &schedule, SCHEDULE_FROM_API, &what, err));
    OK(key_create(tx, &request, &key, secret, err));
    telling_job(box, S("{}"));
    box->caller.org_id = DEFAULT_ORG;
}

static struct org_erasing erase_org(struct box *box, bool dry_run)
{
    struct org_erasing e = { .org_id = OTHER, .dry_run = dry_run };
    while (!e.done)
        OK_FROM_EACH(e, org_erase_step(tx, &e, err));
    return e;
}

TEST_EACH_DB(OPS_25_all_that_an_org_has_is_erased_and_nothing_of_another)
{
    struct job own = must_enqueue(box, "report");
    fill_org(box);
    struct seals seals;
    OK(seals_make(tx, 20, true, &seals, err) && seals_put(tx, &seals, err));
    struct str before = box_contents(box);
    struct org_erasing looked = erase_org(box, true);
    EXPECT(str_eq(before, box_contents(box)));
    struct org_erasing e = erase_org(box, false);
    scrub(box, true);
    EXPECT_INT(e.jobs, looked.jobs);
    EXPECT_INT(e.jobs, 3);
    EXPECT_INT(e.keys, 1);
    EXPECT_INT(e.schedules, 1);
    EXPECT(!store_has(box, SECRET));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM schedules"), 0);
    EXPECT_INT((int64_t)must_load(box, own.id).state, (int64_t)JOB_QUEUED);
    EXPECT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'org.erased'") == 1);
    EXPECT(box_number(box, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") == 0);
    struct seals_checked checked;
    struct pawl_error err = {0};
    MUST(seals_check(box->db, &(struct seal_check){0}, &checked, &err));
    EXPECT_INT(checked.findings, 0);
}

TEST_EACH_DB(OPS_25_an_org_whose_jobs_run_is_not_erased)
{
    box->caller.org_id = OTHER;
    must_enqueue(box, "report");
    must_start(box, "w");
    box->caller.org_id = DEFAULT_ORG;
    struct org_erasing e = { .org_id = OTHER };
    REFUSED(PAWL_CONFLICT, org_erase_step(tx, &e, err));
}

static void add_many(struct box *box, int count)
{
    SCOPED(tx) struct tx tx = {0};
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    box_begin(box, &tx);
    for (int i = 0; i < count; i++)
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    box_commit(&tx);
}

static void add_keys(struct box *box, int count)
{
    struct key_request request = {
        .world = &box->world.world,
        .env = S("live"),
        .org_id = OTHER,
        .role = ROLE_WORKER,
    };
    char secret[KEY_TEXT_BYTES_MAX + 1];
    for (int i = 0; i < count; i++) {
        struct key key;
        OK(key_create(tx, &request, &key, secret, err));
    }
}

// Not rehearsed: it goes over hundreds of rows that are all alike.
static bool erase_piece(struct box *box, struct org_erasing *e, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    bool done = org_erase_step(&tx, e, err);
    if (done)
        box_commit(&tx);
    return done;
}

// Newest first: the oldest job is in the second piece, and a worker begins it in between.
TEST_EACH_DB(OPS_25_a_job_that_begins_while_its_org_is_erased_ends_first)
{
    enum { JOBS = 210, KEYS = 101 };
    struct pawl_error err = {0};
    struct org_erasing e = { .org_id = OTHER }, look = { .org_id = OTHER, .dry_run = true };
    box->caller.org_id = OTHER;
    add_many(box, JOBS);
    add_keys(box, KEYS);
    MUST(erase_piece(box, &e, &err));  // no new ones from here on
    EXPECT_INT(e.keys, KEYS);
    MUST(erase_piece(box, &e, &err));
    struct lease lease = must_start(box, "w");
    EXPECT(!erase_piece(box, &e, &err));
    EXPECT_INT(err.code, PAWL_CONFLICT);
    MUST(erase_piece(box, &look, &err));
    EXPECT_INT(look.running, 1);
    must_commit(box, &lease);
    struct org_erasing again = { .org_id = OTHER };
    while (!again.done)
        MUST(erase_piece(box, &again, &err));
    MUST(erase_piece(box, &again, &err));  // what is done stays done
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), 0);
}

TEST_EACH_DB(OPS_19_an_org_can_be_enabled_again)
{
    struct org org;
    fill_org(box);
    OK(org_disable(tx, OTHER, &org, err));
    OK(org_enable(tx, OTHER, &org, err) && org_enable(tx, OTHER, &org, err));
    EXPECT_INT(org.disabled_at, 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'org.enabled'"), 1);
    REFUSED(PAWL_NOT_FOUND, org_enable(tx, S("00000000-0000-7000-8000-0000000000cc"), &org, err));
}

TEST_EACH_DB(OPS_25_more_schedules_than_one_page_has_are_erased_with_their_org)
{
    enum { COUNT = 7, BYTES = 900 << 10 };
    char *payload = arena_new(test_arena(), char, BYTES);
    EXPECT(payload != NULL);
    memset(payload, 'x', BYTES);
    memcpy(payload, "{\"a\":\"", 6);
    memcpy(payload + BYTES - 2, "\"}", 2);
    box->caller.org_id = OTHER;
    for (int i = 0; i < COUNT; i++) {
        struct schedule schedule = {
            .name = str_format(test_arena(), "s%d", i), .job_type = S("note"),
            .every_us = HOURS(1), .coalesce_said = true, .misfire_grace_us = HOURS(1),
            .max_instances = 1, .expected_us = HOURS(1), .payload = { payload, BYTES },
        };
        enum schedule_put what;
        OK(schedule_put(tx, &schedule, SCHEDULE_FROM_API, &what, err));
    }
    box->caller.org_id = DEFAULT_ORG;
    EXPECT_INT(erase_org(box, false).schedules, COUNT);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM schedules"), 0);
}
