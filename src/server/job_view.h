// Jobs as the routes see them: the object a caller gets, one job by its path, and filters.
#pragma once

#include "engine/job.h"
#include "server/route.h"

// The fields of the job object, without payload and result for those who may not see them, into an
// object that is open.
void job_view(struct exchange *x, struct buf *out, const struct job *job);
CHECKED bool job_answer(struct exchange *x, int status, const struct job *job,
                        struct pawl_error *err);

// The data of routes on one job. For `prepare` and `answer`: the id of the path, and 200 with it.
struct one_job {
    int64_t wait_ms;
    struct id id;
    struct job job;
};
CHECKED bool one_job_prepare(struct exchange *x, struct pawl_error *err);
CHECKED bool one_job_answer(struct exchange *x, struct pawl_error *err);
CHECKED bool one_job_created(struct exchange *x, struct pawl_error *err);  // 201 with its place

// A filter over jobs, in a query or a body.
struct job_query {
    struct str state, queue, job_type, serial_key, correlation_id, project_id, batch_id;
    int64_t limit;
};

#define JOB_QUERY_FIELD(type, at, member, ...) \
    {                                                                     \
        .name = #member, .offset = offsetof(type, at.member), __VA_ARGS__ \
    }
#define JOB_QUERY_FIELDS(type, at, most)                                                        \
    JOB_QUERY_FIELD(type, at, state, .words = words_job_state,                                  \
                    .summary = "only jobs in this state"),                                      \
        JOB_QUERY_FIELD(type, at, queue, .summary = "only jobs in this queue"),                 \
        JOB_QUERY_FIELD(type, at, job_type, .summary = "only jobs of this type"),               \
        JOB_QUERY_FIELD(type, at, serial_key, .summary = "only jobs with this serial key"),     \
        JOB_QUERY_FIELD(type, at, correlation_id, .summary = "only jobs of this correlation"),  \
        JOB_QUERY_FIELD(type, at, project_id, .summary = "only jobs of this project"),          \
        JOB_QUERY_FIELD(type, at, batch_id, .summary = "only jobs of this batch"),              \
        JOB_QUERY_FIELD(type, at, limit, .kind = FIELD_NUMBER, .min = 1, .max = (most),         \
                        .summary = "how many at most")

// What is wrong goes into x->problems.
void job_query_read(struct exchange *x, const struct job_query *query, int64_t limit_default,
                    struct job_filter *filter);
