// What the commit of each category may and must carry, at the boundary (OPS-2, OPS-22 to OPS-25).
#include "artifacts.h"

#include "model/category.h"

static bool nothing(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)tx, (void)self, (void)err;
    return true;
}

// A commit with exactly one effect, or with a plan and one more.
static struct commit commit_of(struct box *box, unsigned effects, struct id *artifact,
                               struct contract *follow_up)
{
    static const struct str note[] = { { "{\"n\":1}", 7 } };
    *follow_up = contract_for(box, "next");
    follow_up->hold = true;  // nobody claims it
    return (struct commit){
        .result = effects & EFFECT_RESULT ? S("1") : S(""),
        .follow_ups = follow_up,
        .follow_up_count = effects & EFFECT_FOLLOW_UPS ? 1 : 0,
        .annotations = note,
        .annotation_count = effects & EFFECT_ANNOTATIONS ? 1 : 0,
        .apply = effects & EFFECT_ROWS ? nothing : NULL,
        .finish = effects & EFFECT_FINISH,
        .done = !(effects & EFFECT_FINISH),
        .outputs = { .ids = artifact, .count = effects & EFFECT_ARTIFACTS ? 1 : 0 },
    };
}

static void try_commit(struct box *box, const struct contract *contract, unsigned effects,
                       bool allowed)
{
    struct contract follow_up;
    struct execution e;
    struct artifact artifact = must_store(box, "x");
    must_add(box, contract);
    struct lease lease = must_start(box, "A");
    struct commit commit = commit_of(box, effects, &artifact.id, &follow_up);
    if (!allowed) {
        REFUSED(PAWL_EFFECT_NOT_ALLOWED, execution_commit(tx, &lease, &commit, &e, err));
        must_fail(box, &lease, ERROR_VALIDATION);
        return;
    }
    OK(execution_commit(tx, &lease, &commit, &e, err));
    OK(execution_done(tx, &lease, &e, err));
}

TEST_EACH_DB(OPS_22_audit_enrichment_may_only_annotate)
{
    struct contract contract = contract_with(box, "audit.enrich", "audit");
    try_commit(box, &contract, 0, true);
    for (unsigned i = 0; i < EFFECTS; i++)
        try_commit(box, &contract, 1U << i, 1U << i == EFFECT_ANNOTATIONS);
}

TEST_EACH_DB(OPS_23_planning_must_produce_an_artifact)
{
    struct contract contract = contract_with(box, "plan", "planning");
    try_commit(box, &contract, 0, false);
    try_commit(box, &contract, EFFECT_RESULT | EFFECT_ANNOTATIONS, false);
    try_commit(box, &contract, EFFECT_ARTIFACTS, true);
    try_commit(box, &contract, EFFECT_ARTIFACTS | EFFECT_RESULT | EFFECT_ANNOTATIONS, true);
}

TEST_EACH_DB(OPS_23_planning_writes_nothing_else_unless_its_type_may_and_its_job_is_authorised)
{
    static const unsigned others[] = { EFFECT_FOLLOW_UPS, EFFECT_ROWS, EFFECT_FINISH };
    for (size_t i = 0; i < countof(others); i++)
        for (unsigned leave = 0; leave < 4; leave++) {
            struct contract contract = contract_with(box, "plan", "planning");
            contract.policy.may_write = leave & 1;
            contract.authorized_by = leave & 2 ? S("anna") : S("");
            try_commit(box, &contract, EFFECT_ARTIFACTS | others[i], leave == 3);
        }
}

TEST_EACH_DB(OPS_23_leave_to_write_does_not_replace_the_plan)
{
    struct contract contract = contract_with(box, "plan", "planning");
    contract.policy.may_write = true;
    contract.authorized_by = S("anna");
    try_commit(box, &contract, EFFECT_FOLLOW_UPS, false);
}

TEST_EACH_DB(OPS_24_transfers_and_other_categories_may_carry_anything)
{
    static const char *const policies[] = { "default", "critical", "notification", "transfer",
                                            "maintenance" };
    for (size_t i = 0; i < countof(policies); i++) {
        struct contract contract = contract_with(box, "any", policies[i]);
        try_commit(box, &contract, 0, true);
        try_commit(box, &contract, (1U << EFFECTS) - 1, true);
    }
}
