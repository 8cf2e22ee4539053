// Trace contexts: read, written, and derived so that everybody derives the same.
#include "test.h"

#include "model/trace.h"

static const struct str sent = { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 55 };
static const struct id a = { 0x198c7a25b1e700, 0x3c1f0a9d2e44 }, b = { 0x198c7a25b1e701, 1 };

TEST(OPS_14_a_traceparent_is_read_and_written_again)
{
    struct trace trace;
    EXPECT(trace_parse(sent, &trace) && trace.sampled && trace_exists(&trace));
    EXPECT(trace.id[0] == 0x0af7651916cd43dd && trace.id[1] == 0x8448eb211c80319c);
    EXPECT(trace.span == 0xb7ad6b7169203331);
    EXPECT(str_eq(trace_text(test_arena(), &trace), sent));
    trace.sampled = false;
    EXPECT(str_ends(trace_text(test_arena(), &trace), S("-00")));
    EXPECT(trace_parse(S("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more"), &trace));
    EXPECT(trace.sampled);
    static const char *const bad[] = {
        "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    for (size_t i = 0; i < countof(bad); i++)
        EXPECT(!trace_parse(str_of(bad[i]), &trace) && !trace_exists(&trace));
}

// These are in traces that people keep, and two versions of Pawl may work on one store.
TEST(OPS_14_spans_are_derived_and_never_change)
{
    struct trace made_in = trace_of_job(sent, a, TRACE_ALWAYS);
    struct trace spans[] = { made_in, trace_enqueueing(&made_in, a), trace_enqueueing(&made_in, b),
                             trace_claim(&made_in, a), trace_execution(&made_in, a),
                             trace_execution(&made_in, b) };
    for (size_t i = 0; i < countof(spans); i++) {
        EXPECT(spans[i].id[0] == made_in.id[0] && spans[i].id[1] == made_in.id[1]);
        EXPECT(spans[i].sampled && spans[i].span != 0);
        for (size_t k = 0; k < i; k++)
            EXPECT(spans[i].span != spans[k].span);
    }
    EXPECT_STR(trace_text(test_arena(), &spans[4]),
               "00-0af7651916cd43dd8448eb211c80319c-4d320329e1d01ee5-01");
}

TEST(OPS_14_a_job_without_a_context_has_a_trace_of_its_own)
{
    struct trace one = trace_of_job(S(""), a, TRACE_ALWAYS);
    struct trace again = trace_of_job(S(""), a, TRACE_ALWAYS), other = trace_of_job(S(""), b, 0);
    EXPECT(trace_exists(&one) && one.span == 0 && one.sampled);
    EXPECT(one.id[0] == again.id[0] && one.id[1] == again.id[1]);
    EXPECT(one.id[1] != other.id[1] && !other.sampled);
}

TEST(OPS_14_a_share_of_the_traces_that_begin_here_is_kept)
{
    int chosen = 0;
    for (int64_t i = 1; i <= 10000; i++)
        chosen += trace_of_job(S(""), (struct id){ i, 1 }, TRACE_ALWAYS / 4).sampled;
    EXPECT(chosen > 2300 && chosen < 2700);
    EXPECT(trace_of_job(sent, a, 0).sampled);  // whoever began it decides
}
