// Connections that are cut between a COMMIT and its answer: what became of it is found out.
//
//     POSTGRES_CUTS=500 postgres_cut_test
//
// Each job has a key of its own. Were a commit taken for lost that was not, the job would be
// enqueued again and found to be known; were it taken for done, the job would be missing.
#include "adding.h"
#include "cutter.h"
#include "torture.h"

enum { CUTS_SAMPLE = 30 };

static bool enqueue_once(struct box *box, struct pipeline *pipeline)
{
    struct pawl_error err = {0};
    bool known = false;
    if (!enqueue_through(pipeline, box, contract_for(box, "report"), &known, &err))
        print_error("%s\n", err.message);
    return err.code == PAWL_OK && !known;
}

TEST_EACH_DB(OPS_9_a_commit_whose_answer_was_cut_off_is_answered_truly)
{
    struct torture torture = { .name = "postgres cuts",
                               .planned = torture_asked("POSTGRES_CUTS", CUTS_SAMPLE) };
    struct str url;
    struct cutter *cutter = cutter_open(box->directory, box->url, &url);
    struct pipeline *pipeline = pipeline_to(url, world_real());
    while (torture.tried < torture.planned) {
        cutter_arm(cutter, (enum cut)(CUT_BEFORE + torture.tried % (CUTS - 1)));
        bool once = enqueue_once(box, pipeline);
        torture_count(&torture, once
                                    && cutter_cuts(cutter) == torture.tried + 1
                                    && box_number(box, "SELECT count(*) FROM jobs")
                                           == torture.tried + 1);
    }
    EXPECT_INT(pipeline_figures(pipeline).doubts, torture.tried);
    EXPECT_INT(torture_end(&torture), 0);
    pipeline_close(pipeline);
    cutter_close(cutter);
}
