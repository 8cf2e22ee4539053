// OPS-10, statement by statement: what touches a table of tenants names the org, or stands here
// with the reason why it need not. A new statement that does neither fails this test.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "store/query.h"
#include "test.h"

// Names of statements with spaces between them; `verify_*` is all that begin so.
static const struct {
    const char *why;
    const char *names;
} without_org[] = {
    { "by the fence: the execution, its attempt and its worker, who is of one org",
      "execution_start execution_renew execution_renew_all execution_progress execution_commit "
      "execution_commit_done execution_commit_done_of_key execution_done execution_abort "
      "execution_finish_give_back execution_held log_place" },
    { "changes by the row key of a job, an execution, an artifact, a batch or a schedule that the "
      "same transaction has loaded for its caller, whose org is compared there",
      "parked_delete wait_limit_delete artifact_delete artifact_inputs_delete wait_delete "
      "waits_delete_of ending_delete limit_hold_end limit_wait_delete outcome_done "
      "dead_letter_close execution_cancel_request artifacts_leave_job link_doom link_fulfil "
      "batch_join batch_count batch_end batch_called_back batch_call_later schedule_update "
      "schedule_remove schedule_pause schedule_resume run_started run_close erase_payload "
      "erase_outcome erase_executions erase_steps erase_slot erase_logs erasure_end" },
    { "by the public id of an API key, which nobody else's has; whose it is was looked at before",
      "api_key_revoke api_key_used api_key_find" },
    { "reads by the row key of what was loaded for its caller",
      "worker_text job_project executions_of_job execution_live_of_job execution_of_attempt "
      "execution_last_error outcome_result letter_row letter_successor trace_execution "
      "trace_made_in step_load steps_of_job audit_of_job logs_of_job job_ready_since run_job_of "
      "artifact_needed_by job_authorized_by wait_limit_of_job outcome_error job_made_again "
      "run_of_job link_load waits_for waits_of limit_wait_of_job job_page_batch trace_job "
      "artifacts_of_job audit_page_of_job job_load_new" },
    { "rows of all orgs, a page at a time: only those of the caller's are kept, or loaded for him",
      "job_page job_page_running job_page_parked audit_page audit_page_after purge_parked "
      "org_job_page type_pauses" },
    { "the sweep, the boot and the scheduler, which work for every org; nobody is told",
      "parked_due parked_next_due wait_limit_due wait_limit_next execution_expired "
      "execution_next_expiry execution_next_finish execution_orphans execution_expire "
      "execution_finish execution_finish_free execution_finish_lease schedules_due "
      "schedules_next schedules_of_source schedule_considered schedule_postpone runs_stale "
      "run_stale_next run_close_row run_postpone batch_due batch_next ending_first bucket_next "
      "key_remove_expired limit_holds_tidy type_pauses_end type_pauses_tidy bucket_due "
      "buckets_tidy runs_abandoned" },
    { "the claim, for workers of every org: the lanes it goes on to are of one",
      "claim_queues ready_next_type queue_has_pauses limit_live_of_queue limit_live_of_type" },
    { "numbers of the whole store: its newest id or time, its counters",
      "clock_newest job_newest execution_newest artifact_newest batch_newest audit_newest "
      "audit_witness count_deltas count_delta_insert api_key_any" },
    { "retention, which works for every org: by age, and by the row key of what it removes",
      "removed_waits removed_ending removed_link removed_logs removed_steps removed_change "
      "removed_wait_limit removed_slot removed_erasure removed_job removed_executions "
      "removed_outcome removed_callback retention_jobs retention_log retention_skips "
      "retention_skips_count retention_batches retention_artifacts_count forgotten_delete "
      "forgotten_note audit_prune artifact_has_file artifacts_unused" },
    { "the sealer and `pawl audit verify`, over the whole trail", "audit_unsealed audit_from" },
    { "alerts are the operator's, for the whole store: no tenant reads them",
      "alert_oldest alert_untold alert_due alerts_newest alert_gather alert_settle alert_load "
      "alert_summary alerts_of_target_delete alerts_tidy" },
    { "an operator's, on the store itself", "verify_* doctor_* queue_oldest_ready purge_ready" },
    { "`pawl copy`: all rows of all orgs, into a store that nobody uses yet", "copy_*" },
};

static bool listed(const char *name, const char *names)
{
    char word[80];
    for (int n = 0; sscanf(names, "%79s%n", word, &n) == 1; names += n) {
        size_t length = strlen(word);
        bool all = word[length - 1] == '*';
        if (all ? strncmp(name, word, length - 1) == 0 : strcmp(name, word) == 0)
            return true;
    }
    return false;
}

static const char *reason(const char *name)
{
    for (size_t i = 0; i < countof(without_org); i++)
        if (listed(name, without_org[i].names))
            return without_org[i].why;
    return NULL;
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return true;
    }
    return false;
}

// Whether rows are chosen by their org: it is compared with something after FROM, or after WHERE
// where something is changed.
static bool compares_org(const char *sql)
{
    bool changes = strncmp(sql, "UPDATE", 6) == 0 || strncmp(sql, "DELETE", 6) == 0;
    const char *at = strstr(sql, changes ? "WHERE" : "FROM");
    for (; at && (at = strstr(at, "org")); at += strlen("org")) {
        bool begins = !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        const char *next = at + strlen("org") + strspn(at + strlen("org"), " \n");
        if (begins && (strchr("=<>", *next) || strncmp(next, "IN (", 4) == 0))
            return true;
    }
    return false;
}

static bool names_org(const char *sql)
{
    return strstr(sql, "INSERT INTO") ? has_word(sql, "org") : compares_org(sql);
}

// From the statement that copies it, which has all its columns.
static bool is_of_tenants(const struct copied_table *table)
{
    return strstr(queries[table->insert].sqlite, "\"org\"") != NULL;
}

static bool touches_tenants(const char *sql)
{
    for (const struct copied_table *table = copied_tables; table->name; table++)
        if (is_of_tenants(table) && has_word(sql, table->name))
            return true;
    return false;
}

TEST(OPS_10_every_statement_about_tenants_names_the_org_or_says_why_not)
{
    int named = 0, excused = 0, offences = 0;
    for (size_t i = 0; i < QUERIES; i++) {
        const struct query_row *query = &queries[i];
        if (!touches_tenants(query->sqlite))
            continue;
        bool names = names_org(query->sqlite);
        named += names;
        excused += !names && reason(query->name);
        if (names || reason(query->name))
            continue;
        print_error("%s touches a table of tenants and does not name the org\n", query->name);
        offences++;
    }
    printf("%d statements name the org, %d say why not\n", named, excused);
    EXPECT(named > 150 && excused > 100);
    EXPECT_INT(offences, 0);
}

// A row of a tenant's is put with its org, whoever puts it: there is no excuse.
TEST(OPS_10_every_insert_into_a_table_of_tenants_has_the_org)
{
    int inserts = 0;
    for (size_t i = 0; i < QUERIES; i++)
        for (const struct copied_table *table = copied_tables; table->name; table++) {
            char into[80];
            snprintf(into, sizeof into, "INSERT INTO %s ", table->name);
            if (!is_of_tenants(table) || !strstr(queries[i].sqlite, into))
                continue;
            inserts++;
            if (!has_word(queries[i].sqlite, "org"))
                print_error("%s\n", queries[i].name);
            EXPECT(has_word(queries[i].sqlite, "org"));
        }
    EXPECT(inserts > 60);
}

// Of a list that nobody looks at again half is wrong some day.
TEST(OPS_10_the_list_of_reasons_names_statements_that_need_one)
{
    for (size_t i = 0; i < countof(without_org); i++) {
        char word[80];
        const char *names = without_org[i].names;
        for (int n = 0; sscanf(names, "%79s%n", word, &n) == 1; names += n) {
            bool needed = word[strlen(word) - 1] == '*';
            for (size_t q = 0; q < QUERIES; q++)
                needed |= strcmp(queries[q].name, word) == 0 && touches_tenants(queries[q].sqlite)
                       && !names_org(queries[q].sqlite);
            if (!needed)
                print_error("%s needs no reason\n", word);
            EXPECT(needed);
        }
    }
}
