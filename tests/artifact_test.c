// Artifacts as rows and files: what is there, for whom, and how long.
#include "artifacts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "model/input.h"

#define PROJECT "01900000-0000-7000-8000-0000000000a1"
#define OTHER_PROJECT "01900000-0000-7000-8000-0000000000a2"
#define OTHER_ORG S("01900000-0000-7000-8000-00000000000b")

static const char *path_of(struct box *box, struct str file)
{
    return str_format(test_arena(), "%s/%.*s", db_files(box->db), STR(file)).s;
}

// Its owner may not write it: he has to allow that first.
static void overwrite(const char *path, const char *text)
{
    EXPECT(chmod(path, 0600) == 0);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    close(fd);
    EXPECT_INT(n, strlen(text));
}

TEST_EACH_DB(OPS_24_an_artifact_has_its_bytes_its_checksum_and_its_audit_event)
{
    struct artifact made = must_store(box, "abc"), found;
    EXPECT_STR(made.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_INT(made.bytes, 3);
    EXPECT(file_is_there(box, &made));
    OK(artifact_load(tx, made.id, &found, err));
    EXPECT(str_eq(found.sha256, made.sha256));
    EXPECT(str_eq(found.file, made.file));
    EXPECT_STR(found.made_by, "tester");
    EXPECT_INT(found.job.high, 0);
    EXPECT(!found.authoritative);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'artifact.stored'"
                               " AND subject LIKE 'artifact:%'"),
               1);
}

TEST_EACH_DB(OPS_24_another_org_or_project_does_not_find_it)
{
    struct artifact made = must_store_for(box, "abc", PROJECT), open = must_store(box, "all");
    struct artifact found;
    const struct str own[] = { S(PROJECT) }, other[] = { S(OTHER_PROJECT) };
    struct artifact_list list;
    box->caller.projects = own;
    box->caller.project_count = 1;
    OK(artifact_load(tx, made.id, &found, err));
    OK(artifacts_find(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 1);
    box->caller.projects = other;
    REFUSED(PAWL_NOT_FOUND, artifact_load(tx, made.id, &found, err));
    REFUSED(PAWL_NOT_FOUND, artifact_load(tx, open.id, &found, err));
    OK(artifacts_find(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 0);
    box->caller.project_count = 0;
    OK(artifacts_find(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 2);
    OK(artifacts_find(tx, 0, 1, &list, err));
    EXPECT(id_eq(list.artifacts[0].id, open.id));
    OK_FROM(list, artifacts_find(tx, list.next, 1, &list, err));
    EXPECT(id_eq(list.artifacts[0].id, made.id));
    box->caller.org_id = OTHER_ORG;
    REFUSED(PAWL_NOT_FOUND, artifact_load(tx, made.id, &found, err));
    must_store(box, "theirs");
    REFUSED(PAWL_NOT_FOUND, artifact_load(tx, made.id, &found, err));
    OK(artifacts_find(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 1);
}

TEST_EACH_DB(OPS_24_name_and_content_type_are_checked_and_every_problem_is_named)
{
    struct problems problems = { .arena = test_arena() };
    struct artifact bad = { .name = S("../x"), .content_type = S("text"), .project_id = S("p") };
    artifact_check(&box->caller, &bad, &problems);
    EXPECT_INT(problems.count, 3);
    problems.count = 0;
    struct artifact plain = {0};
    artifact_check(&box->caller, &plain, &problems);
    EXPECT_INT(problems.count, 0);
    EXPECT_STR(plain.content_type, "application/octet-stream");
}

static size_t tidied(struct box *box)
{
    struct pawl_error err = {0};
    size_t removed = 0;
    MUST(artifacts_tidy(box->db, &removed, &err));
    return removed;
}

static struct box *named_in;  // the row of its artifact comes back before this call of the store
static int64_t named_before;

static void name_file(struct fault_counter *faults)
{
    if (faults->calls == named_before)
        box_sql(named_in, "INSERT INTO artifacts SELECT * FROM kept");
}

// Whenever its row is committed: while somebody looks for it, the file stays or the row is late.
TEST_EACH_DB(OPS_24_a_file_that_is_named_while_others_are_tidied_up_stays)
{
    struct artifact artifact = must_store(box, "some bytes");
    named_in = box;
    box_sql(box, "CREATE TABLE kept AS SELECT * FROM artifacts");
    for (named_before = 1; file_is_there(box, &artifact); named_before++) {
        box_sql(box, "DELETE FROM artifacts");
        store_faults_begin(box->db, NULL);
        store_faults = (struct fault_counter){ .about_to = name_file };
        size_t removed = tidied(box);
        bool named = store_faults.calls >= named_before;
        store_faults = (struct fault_counter){0};
        store_faults_end(box->db);
        EXPECT(file_is_there(box, &artifact) == (removed == 0));
        EXPECT(named == (removed == 0));
    }
    EXPECT(named_before > 3);
    box_sql(box, "DROP TABLE kept");
}

TEST_EACH_DB(OPS_24_a_file_whose_writer_died_is_removed_and_no_other)
{
    struct pawl_error err = {0};
    struct artifact kept = must_store(box, "kept");
    struct blob writing = {0}, left = {0};
    MUST(blob_create(db_files(box->db), &box->world.world, &writing, &err));
    MUST(blob_write(&writing, "x", 1, &err));
    MUST(blob_create(db_files(box->db), &box->world.world, &left, &err));
    MUST(blob_settle(&left, &err));
    blob_keep(&left);  // as the kernel does for a process that is gone
    EXPECT_INT(tidied(box), 1);
    EXPECT_INT(files_of(box), 2);
    EXPECT(file_is_there(box, &kept));
    blob_drop(&writing);
    EXPECT_INT(files_of(box), 1);
    EXPECT_INT(tidied(box), 0);
}

TEST_EACH_DB(OPS_24_a_file_that_was_changed_cut_or_removed_is_noticed)
{
    struct pawl_error err = {0};
    struct artifact made = must_store(box, "abc");
    const char *path = path_of(box, made.file);
    int fd = -1;
    overwrite(path, "abd");
    EXPECT(!blob_check(db_files(box->db), made.file, made.bytes, made.sha256, &err));
    EXPECT_INT(err.code, PAWL_DAMAGED);
    EXPECT(truncate(path, 2) == 0);
    EXPECT(!blob_open(db_files(box->db), made.file, made.bytes, &fd, &err));
    EXPECT_INT(err.code, PAWL_DAMAGED);
    EXPECT(unlink(path) == 0);
    EXPECT(!blob_open(db_files(box->db), made.file, made.bytes, &fd, &err));
    EXPECT_INT(err.code, PAWL_NOT_FOUND);
    box->damaged = true;
}

static void count_violation(void *self, const struct violation *violation)
{
    *(size_t *)self += strcmp(violation->name, "check_artifact_file") == 0;
}

static size_t bad_files(struct box *box, bool artifacts)
{
    size_t count = 0;
    struct verified verified;
    struct pawl_error err = {0};
    struct verify_options options = {
        .self = &count,
        .found = count_violation,
        .artifacts = artifacts,
    };
    MUST(verify(box->db, &options, &verified, &err));
    return count;
}

TEST_EACH_DB(OPS_24_verify_finds_a_file_that_is_gone_and_when_asked_other_bytes)
{
    struct artifact made = must_store(box, "abc");
    overwrite(path_of(box, made.file), "abd");
    EXPECT_INT(bad_files(box, false), 0);
    EXPECT_INT(bad_files(box, true), 1);
    EXPECT(unlink(path_of(box, made.file)) == 0);
    EXPECT_INT(bad_files(box, false), 1);
    box->damaged = true;
}

// ----- inputs

static struct contract import_of(struct box *box, const struct artifact *artifact,
                                 const char *sha256)
{
    struct contract contract = contract_with(box, "rows.import", "transfer");
    contract.payload = str_format(test_arena(), "{\"input\":{\"artifact_id\":\"%.*s\"%s%s%s}}",
                                  STR(id_text(test_arena(), artifact->id)),
                                  sha256 ? ",\"sha256\":\"" : "", sha256 ? sha256 : "",
                                  sha256 ? "\"" : "");
    return contract;
}

static bool enqueue(struct tx *tx, const struct contract *contract, struct pawl_error *err)
{
    struct job job;
    bool known = false;
    return job_enqueue(tx, contract, &job, &known, err);
}

TEST_EACH_DB(OPS_24_an_import_names_an_artifact_of_its_own_whose_checksum_is_right)
{
    struct artifact mine = must_store(box, "abc"), theirs;
    struct contract contract = import_of(box, &mine, mine.sha256.s);
    must_add(box, &contract);
    contract = import_of(box, &mine, NULL);
    must_add(box, &contract);
    contract = import_of(box, &mine, "00000000000000000000000000000000"
                                     "00000000000000000000000000000000");
    REFUSED(PAWL_INVALID, enqueue(tx, &contract, err));
    contract = import_of(box, &mine, "abc");
    REFUSED(PAWL_INVALID, enqueue(tx, &contract, err));
    struct str own = box->caller.org_id;
    box->caller.org_id = OTHER_ORG;
    theirs = must_store(box, "abc");
    box->caller.org_id = own;
    contract = import_of(box, &theirs, NULL);
    REFUSED(PAWL_INVALID, enqueue(tx, &contract, err));
    struct artifact projects = must_store_for(box, "p", PROJECT);
    contract = import_of(box, &projects, NULL);
    REFUSED(PAWL_INVALID, enqueue(tx, &contract, err));
    contract.project_id = S(OTHER_PROJECT);
    REFUSED(PAWL_INVALID, enqueue(tx, &contract, err));
    contract.project_id = S(PROJECT);
    must_add(box, &contract);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM artifact_inputs"), 3);
}

TEST_EACH_DB(OPS_24_every_input_that_is_wrong_is_named)
{
    struct artifact mine = must_store(box, "abc");
    struct contract contract = contract_with(box, "rows.import", "transfer");
    struct problems problems = { .arena = test_arena() };
    contract.payload = str_format(test_arena(),
                                  "{\"inputs\":[{\"artifact_id\":\"%.*s\"},{\"artifact_id\":1},"
                                  "{\"artifact_id\":\"01900000-0000-7000-8000-000000000001\"},"
                                  "{\"file\":\"x\"}]}",
                                  STR(id_text(test_arena(), mine.id)));
    OK_FROM(problems, inputs_check(tx, &contract, "jobs[3].", &problems, err));
    EXPECT_INT(problems.count, 2);
    EXPECT_STR(problems.list[0].field, "jobs[3].payload.inputs[1].artifact_id");
    EXPECT_STR(problems.list[1].field, "jobs[3].payload.inputs[2].artifact_id");
}

TEST(OPS_24_more_inputs_than_a_job_may_have_are_refused)
{
    struct buf payload = buf_new(test_arena(), 1 << 20);
    struct problems problems = { .arena = test_arena() };
    buf_add(&payload, S("{\"inputs\":["));
    for (int i = 0; i <= INPUTS_MAX; i++)
        buf_addf(&payload, "%s{\"artifact_id\":\"01900000-0000-7000-8000-%012d\"}", i ? "," : "",
                 i + 1);
    buf_add(&payload, S("],\"input\":{\"artifact_id\":\"01900000-0000-7000-8000-000000000001\"}}"));
    struct inputs inputs = inputs_read(buf_str(&payload), "", &problems);
    EXPECT_INT(inputs.count, INPUTS_MAX);  // and no more, also with the one that stands alone
    EXPECT_INT(problems.count, 1);
    EXPECT_STR(problems.list[0].field, "payload.inputs");
}

TEST_EACH_DB(JOB_11_a_job_whose_input_is_gone_ends_when_it_is_claimed_and_others_go_on)
{
    struct artifact removed = must_store(box, "abc"), lost = must_store(box, "def"),
                    there = must_store(box, "ghi");
    struct contract contract = import_of(box, &removed, NULL);
    struct job first = must_add(box, &contract);
    contract = import_of(box, &there, NULL);
    struct job second = must_add(box, &contract);
    contract = import_of(box, &lost, NULL);
    struct job third = must_add(box, &contract);
    contract = import_of(box, &there, NULL);
    struct job fourth = must_add(box, &contract);
    box_sql(box, "DELETE FROM artifacts WHERE id = (SELECT min(id) FROM artifacts)");
    EXPECT(unlink(path_of(box, removed.file)) == 0 && unlink(path_of(box, lost.file)) == 0);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 2);
    EXPECT(id_eq(claimed[0].job.id, second.id) && id_eq(claimed[1].job.id, fourth.id));
    struct job ended = must_load(box, first.id);
    EXPECT_INT(ended.state, JOB_FAILED);
    EXPECT_INT(ended.failure_type, FAILURE_RESOURCE_EXHAUSTED);
    EXPECT_INT(ended.attempt, 0);
    EXPECT_STR(ended.dead_letter, "open");
    EXPECT(strstr(ended.last_error.s, "is gone: it was removed"));
    EXPECT(strstr(must_load(box, third.id).last_error.s, "is gone: its file is gone"));
    box->damaged = true;  // a row without its file
}

TEST_EACH_DB(OPS_24_an_artifact_is_removed_when_no_job_needs_it_and_not_before)
{
    struct artifact input = must_store(box, "abc"), gone;
    struct contract contract = import_of(box, &input, NULL);
    struct job job = must_add(box, &contract), ended;
    REFUSED(PAWL_CONFLICT, artifact_remove(tx, input.id, &gone, err));
    struct lease lease = must_start(box, "A");
    REFUSED(PAWL_CONFLICT, artifact_remove(tx, input.id, &gone, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
    REFUSED(PAWL_CONFLICT, artifact_remove(tx, input.id, &gone, err));
    OK(job_cancel(tx, job.id, &ended, err));
    OK(artifact_remove(tx, input.id, &gone, err));
    EXPECT(str_eq(gone.file, input.file));
    REFUSED(PAWL_NOT_FOUND, artifact_remove(tx, input.id, &gone, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event ="
                               " 'artifact.removed'"),
               1);
}

// ----- outputs

static bool commit_with(struct tx *tx, const struct lease *lease, const struct id *ids,
                        size_t count, struct pawl_error *err)
{
    struct execution e;
    struct commit commit = { .outputs = { .ids = ids, .count = count }, .done = true };
    return execution_commit(tx, lease, &commit, &e, err);
}

TEST_EACH_DB(OPS_24_what_a_commit_names_becomes_the_jobs_once)
{
    struct artifact one = must_store(box, "1"), two = must_store(box, "2"), found;
    struct job job = must_enqueue(box, "report"), other = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A"), next = must_start(box, "A");
    const struct id both[] = { one.id, two.id }, wrong[] = { two.id, { 7, 7 } };
    REFUSED(PAWL_INVALID, commit_with(tx, &lease, wrong, 2, err));
    OK(commit_with(tx, &lease, both, 2, err));
    OK(commit_with(tx, &lease, both, 2, err));  // its answer was lost
    struct artifact_list list;
    OK(artifacts_of_job(tx, job.id.high, &list, err));
    EXPECT_INT(list.count, 2);
    OK(artifact_load(tx, one.id, &found, err));
    EXPECT(id_eq(found.job, job.id) && id_eq(found.execution, lease.execution));
    REFUSED(PAWL_INVALID, commit_with(tx, &next, both, 1, err));
    must_commit(box, &next);
    OK(artifacts_of_job(tx, other.id.high, &list, err));
    EXPECT_INT(list.count, 0);
}

TEST_EACH_DB(OPS_24_an_output_is_of_the_org_and_project_of_its_job)
{
    struct str own = box->caller.org_id;
    box->caller.org_id = OTHER_ORG;
    struct artifact theirs = must_store(box, "1");
    box->caller.org_id = own;
    struct artifact elsewhere = must_store_for(box, "2", OTHER_PROJECT),
                    here = must_store_for(box, "3", PROJECT);
    struct contract contract = contract_for(box, "report");
    contract.project_id = S(PROJECT);
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    REFUSED(PAWL_INVALID, commit_with(tx, &lease, &theirs.id, 1, err));
    REFUSED(PAWL_INVALID, commit_with(tx, &lease, &elsewhere.id, 1, err));
    OK(commit_with(tx, &lease, &here.id, 1, err));
}

TEST_EACH_DB(OPS_9_artifacts_are_derived_unless_the_type_says_authoritative)
{
    struct artifact one = must_store(box, "1"), two = must_store(box, "2"), found;
    struct contract contract = contract_for(box, "report");
    struct job derived = must_add(box, &contract);
    contract.policy.authoritative = true;
    struct job truth = must_add(box, &contract);
    struct lease first = must_start(box, "A"), second = must_start(box, "A");
    OK(commit_with(tx, &first, &one.id, 1, err));
    OK(commit_with(tx, &second, &two.id, 1, err));
    OK(artifact_load(tx, one.id, &found, err));
    EXPECT(!found.authoritative);
    OK(artifact_load(tx, two.id, &found, err));
    EXPECT(found.authoritative);
    box_reopen(box);  // it is in the store
    EXPECT(!must_load(box, derived.id).contract.policy.authoritative);
    EXPECT(must_load(box, truth.id).contract.policy.authoritative);
}

// ----- removal

TEST_EACH_DB(OPS_25_only_what_is_old_and_of_no_job_is_removed_so_many_at_a_time)
{
    struct artifact input = must_store(box, "in"), output = must_store(box, "out");
    struct contract contract = import_of(box, &input, NULL);
    struct job job = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    OK(commit_with(tx, &lease, &output.id, 1, err));
    for (int i = 0; i < 3; i++)
        must_store(box, "free");
    pass(box, DAYS(30));
    must_store(box, "young");
    struct removed_files removed;
    pawl_time before = box->world.wall - DAYS(7);
    OK(artifacts_remove_old(tx, before, 2, &removed, err));
    EXPECT_INT(removed.count, 2);
    OK(artifacts_remove_old(tx, before, 2, &removed, err));
    EXPECT_INT(removed.count, 1);
    OK(artifacts_remove_old(tx, before, 2, &removed, err));
    EXPECT_INT(removed.count, 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM artifacts"), 3);
    OK(artifacts_leave_job(tx, job.id.high, err));
    OK(artifacts_remove_old(tx, before, 10, &removed, err));
    EXPECT_INT(removed.count, 2);
    EXPECT_INT(tidied(box), 5);
    EXPECT_INT(files_of(box), 1);
}
