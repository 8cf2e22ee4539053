// What jobs have to do with artifacts: inputs when they are stored and claimed, outputs when they
// commit.
#include <unistd.h>

#include "engine/artifact.h"
#include "engine/execution.h"
#include "engine/job.h"
#include "model/input.h"
#include "store/blob.h"
#include "store/names.h"

// ----- inputs

// The artifact as its org sees it, whoever asks: a job is of one org and one project.
static bool find_input(struct tx *tx, const struct contract *contract, const struct input *input,
                       struct artifact *artifact, bool *found, struct pawl_error *err)
{
    const struct caller *asks = tx->caller;
    struct caller org = { .org_id = contract->org_id };
    struct pawl_error why = {0};
    tx->caller = &org;
    bool loaded = artifact_load(tx, input->artifact, artifact, &why);
    tx->caller = asks;
    *found = loaded
          && (artifact->project_id.n == 0 || str_eq(artifact->project_id, contract->project_id));
    return *found || why.code == PAWL_OK || why.code == PAWL_NOT_FOUND
        || fail(err, why.code, "%s", why.message);
}

static bool check_input(struct tx *tx, const struct contract *contract, const struct input *input,
                        struct problems *problems, struct pawl_error *err)
{
    struct artifact artifact;
    bool found = false;
    if (!find_input(tx, contract, input, &artifact, &found, err))
        return false;
    if (!found)
        problem_add(problems,
                    str_format(tx->arena, "%.*s.artifact_id", STR(input->field)).s,
                    "there is no artifact %.*s for a job of this org and project",
                    STR(id_text(tx->arena, input->artifact)));
    else if (input->sha256.n && !str_eq(input->sha256, artifact.sha256))
        problem_add(problems, str_format(tx->arena, "%.*s.sha256", STR(input->field)).s,
                    "is not that of the artifact, %.*s", STR(artifact.sha256));
    return true;
}

static bool check_inputs(struct tx *tx, const struct contract *contract,
                         const struct inputs *inputs, struct problems *problems,
                         struct pawl_error *err)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (!check_input(tx, contract, &inputs->at[i], problems, err))
            return false;
    return true;
}

bool inputs_check(struct tx *tx, const struct contract *contract, const char *prefix,
                  struct problems *problems, struct pawl_error *err)
{
    struct inputs inputs = inputs_read(contract->payload, prefix, problems);
    return check_inputs(tx, contract, &inputs, problems, err);
}

bool inputs_put(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    struct inputs inputs = inputs_read(job->contract.payload, "", &problems);
    for (size_t i = 0; i < inputs.count; i++)
        if (!sql_run(tx, Q_ARTIFACT_INPUT_INSERT, err, INT(job->id.high),
                     INT(inputs.at[i].artifact.high), INT(inputs.at[i].artifact.low),
                     INT(job->keys.org)))
            return false;
    return true;
}

bool inputs_lost(struct tx *tx, const struct job *job, struct str *why, struct pawl_error *err)
{
    *why = S("");
    if (!policy_has_inputs(&job->contract.policy))
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ARTIFACT_INPUTS_OF_JOB, err, INT(job->id.high)))
        return false;
    while (why->n == 0 && rows_next(&rows)) {
        struct id id;
        id.high = row_int(&rows);
        id.low = row_int(&rows);
        struct str file = row_text(&rows);
        struct pawl_error missing = { .message = "it was removed" };
        int fd = -1;
        if (file.n && blob_open(db_files(tx->db), file, row_int(&rows), &fd, &missing))
            close(fd);
        else
            *why = str_format(tx->arena, "%.*s %.*s is gone: %s", STR(ENDED_INPUT_GONE),
                              STR(id_text(tx->arena, id)), missing.message);
    }
    return rows_ok(&rows, err);
}

// ----- outputs

bool outputs_put(struct tx *tx, const struct execution *e, const struct outputs *outputs,
                 struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    struct policy policy;
    // defensive: the commit has asked for the policy, and the connection remembers it
    if (!policy_load(tx, e->policy, &policy, err))
        return false;
    for (size_t i = 0; i < outputs->count; i++) {
        const struct id *id = &outputs->ids[i];
        int64_t taken = 0;
        if (!sql_run_counting(tx, Q_ARTIFACT_TAKE, &taken, err, INT(id->high), INT(id->low),
                              INT(e->job.high), INT(e->id.high), INT(policy.authoritative)))
            return false;
        if (taken == 0)
            problem_add(&problems, str_format(tx->arena, "artifacts[%zu]", i).s,
                        "there is no artifact %.*s of the job's org and project that is not yet "
                        "of a job",
                        STR(id_text(tx->arena, *id)));
    }
    return problems_none(&problems, err);
}
