// libpq, PostgreSQL's client library, loaded when the first store on a server is opened.
//
// A program whose store is a file needs no libpq, and one that is linked statically cannot have it:
// Debian has parts of it as shared libraries only. The types and constants are libpq-fe.h's; a
// function PQexec is called as pq.exec.
#pragma once

#include <libpq-fe.h>

#include "base/error.h"

// clang-format off
#define PQ_FUNCTIONS(X) \
    X(backendPID) X(clear) X(cmdStatus) X(cmdTuples) X(connectdbParams) X(connectPoll) \
    X(connectStartParams) X(conninfoFree) X(conninfoParse) X(consumeInput) X(describePrepared) \
    X(enterPipelineMode) X(errorMessage) X(escapeLiteral) X(exec) X(execPrepared) \
    X(exitPipelineMode) X(finish) X(freemem) X(ftype) X(getisnull) X(getlength) X(getResult) \
    X(getvalue) X(isBusy) X(notifies) X(ntuples) X(paramtype) X(parameterStatus) \
    X(pipelineStatus) X(pipelineSync) X(prepare) X(resultErrorField) X(resultStatus) \
    X(sendPrepare) X(sendQuery) X(sendQueryParams) X(sendQueryPrepared) X(serverVersion) \
    X(setNoticeProcessor) X(socket) X(status) X(transactionStatus)
// clang-format on

#define PQ_MEMBER(name) __typeof__(&PQ##name) name;
struct libpq {
    PQ_FUNCTIONS(PQ_MEMBER)
};
#undef PQ_MEMBER

extern struct libpq pq;  // once postgres_load has said true

CHECKED bool postgres_load(struct pawl_error *err);
