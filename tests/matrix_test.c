// The full matrix: every situation a job can be in, every operation, every guise of the one who
// asks. What must come of each pair stands in one table, written from the rules and not from the
// engine; whatever it says, only the moves of JOB-1 and EXEC-2 may ever be seen.
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "engine/finish.h"
#include "store/query.h"

// ----- words: a letter per state and status

static const char job_letters[] = { 'C', 'Q', 'R', 'W', 'S', 'F', 'T' };
static const char execution_letters[] = { 'L', 'I', 'M', 'D', 'A' };
_Static_assert(sizeof job_letters == JOB_STATES, "one letter per state");
_Static_assert(sizeof execution_letters == EXECUTION_STATUSES, "one letter per status");

static const struct {
    char letter;
    enum pawl_code code;
} refusals[] = {
    { 'n', PAWL_NOT_FOUND },
    { 'F', PAWL_FENCED },
    { 'C', PAWL_CONFLICT },
    { 'A', PAWL_ALREADY_COMMITTED },
    { 'N', PAWL_NOT_STARTED },
    { 'T', PAWL_TERMINAL },
};

// JOB-1. The moves of the second line are a cancellation's only.
static const char job_moves[] = "CQ QR RS RF RW WQ QF RT";
static const char cancel_moves[] = "CF QF RF WF";
// EXEC-2.
static const char execution_moves[] = "LI IM MD LA IA";

static bool among(const char *moves, char from, char to)
{
    for (const char *move = moves; *move; move += move[2] ? 3 : 2)
        if (move[0] == from && move[1] == to)
            return true;
    return false;
}

// ----- operations

struct attempt_at {
    struct box *box;
    const char *situation;
    struct id job;
    struct lease lease;
};

#define WORKER_OPERATION(name, call)                                                    \
    static bool name(struct tx *tx, const struct attempt_at *a, struct pawl_error *err) \
    {                                                                                   \
        struct execution e;                                                             \
        return call;                                                                    \
    }
#define JOB_OPERATION(name, call)                                                       \
    static bool name(struct tx *tx, const struct attempt_at *a, struct pawl_error *err) \
    {                                                                                   \
        struct job job;                                                                 \
        return call;                                                                    \
    }

static const struct job_change raise = { .has_priority = true, .priority = 3 };

JOB_OPERATION(do_submit, job_submit(tx, a->job, &job, err))
JOB_OPERATION(do_cancel, job_cancel(tx, a->job, &job, err))
JOB_OPERATION(do_change, job_change(tx, a->job, &raise, &job, err))
JOB_OPERATION(do_retry, job_retry(tx, a->job, &job, err))
JOB_OPERATION(do_end, finish_end(tx, a->job, &job, err))

static bool do_claim(struct tx *tx, const struct attempt_at *a, struct pawl_error *err)
{
    (void)a;
    const struct str queues[] = { S("q:default") };
    struct claim claim = {
        .worker = worker_named("C"),
        .queues = queues,
        .queue_count = 1,
        .limit = 10,
    };
    struct claimed *claimed;
    size_t count;
    return execution_claim(tx, &claim, &claimed, &count, err);
}

static const struct progress half = { .percent = 50 };
static const struct commit plain, phased = { .finish = true }, whole = { .done = true };
static const struct work_error retryable = { .class = ERROR_TRANSIENT };
static const struct work_error terminal = { .class = ERROR_VALIDATION };
static const struct work_error cancelled = { .class = ERROR_CANCELLED };

WORKER_OPERATION(do_start, execution_start(tx, &a->lease, &e, err))
WORKER_OPERATION(do_beat, execution_heartbeat(tx, &a->lease, NULL, &e, err))
WORKER_OPERATION(do_progress, execution_progress(tx, &a->lease, &half, &e, err))
WORKER_OPERATION(do_commit, execution_commit(tx, &a->lease, &plain, &e, err))
WORKER_OPERATION(do_commit_finish, execution_commit(tx, &a->lease, &phased, &e, err))
WORKER_OPERATION(do_commit_done, execution_commit(tx, &a->lease, &whole, &e, err))
WORKER_OPERATION(do_done, execution_done(tx, &a->lease, &e, err))
WORKER_OPERATION(do_fail_retryable, execution_fail(tx, &a->lease, &retryable, &e, err))
WORKER_OPERATION(do_fail_terminal, execution_fail(tx, &a->lease, &terminal, &e, err))
WORKER_OPERATION(do_fail_cancelled, execution_fail(tx, &a->lease, &cancelled, &e, err))
WORKER_OPERATION(do_release, execution_release(tx, &a->lease, &e, err))

static bool do_step_put(struct tx *tx, const struct attempt_at *a, struct pawl_error *err)
{
    struct step step;
    return step_put(tx, &a->lease, S("fetch"), S("1"), &step, err);
}

static bool do_step_fail(struct tx *tx, const struct attempt_at *a, struct pawl_error *err)
{
    struct step step;
    return step_fail(tx, &a->lease, S("fetch"), S("no"), &step, err);
}

static bool do_sweep(struct tx *tx, const struct attempt_at *a, struct pawl_error *err)
{
    (void)a;
    struct swept swept;
    return sweep(tx, 100, &swept, err);
}

static bool do_boot(struct tx *tx, const struct attempt_at *a, struct pawl_error *err)
{
    (void)a;
    struct recovered recovered;
    return boot_recover(tx, &(struct instance){ S("test"), S("boot-2") }, 100, &recovered, err);
}

enum who { BY_ORG,
           BY_WORKER,
           BY_PAWL };

static const struct {
    const char *name;
    enum who who;
    bool (*act)(struct tx *tx, const struct attempt_at *a, struct pawl_error *err);
} operations[] = {
    { "submit", BY_ORG, do_submit },
    { "cancel", BY_ORG, do_cancel },
    { "change", BY_ORG, do_change },
    { "retry", BY_ORG, do_retry },
    { "claim", BY_PAWL, do_claim },
    { "start", BY_WORKER, do_start },
    { "heartbeat", BY_WORKER, do_beat },
    { "progress", BY_WORKER, do_progress },
    { "step put", BY_WORKER, do_step_put },
    { "step fail", BY_WORKER, do_step_fail },
    { "commit", BY_WORKER, do_commit },
    { "commit and finish later", BY_WORKER, do_commit_finish },
    { "commit and done", BY_WORKER, do_commit_done },
    { "done", BY_WORKER, do_done },
    { "fail, retryable", BY_WORKER, do_fail_retryable },
    { "fail, terminal", BY_WORKER, do_fail_terminal },
    { "fail, cancelled", BY_WORKER, do_fail_cancelled },
    { "release", BY_WORKER, do_release },
    { "sweep", BY_PAWL, do_sweep },
    { "boot", BY_PAWL, do_boot },
    { "end the commit phase", BY_ORG, do_end },
};

enum { OPERATIONS = countof(operations) };

// ----- situations

// How to bring a job there, one letter a step:
//   h held  d delayed  k behind another job of its key  w with a max_wait
//   l leased  s leased and started  S start  x cancelled, or asked to stop
//   c commit  p commit, with a phase to follow
//   D done  t fail retryable  v fail terminal  X fail cancelled  r release  f claim to finish, as B
//   b 20 s pass and a heartbeat comes  5 a second passes  6 the lease runs out
//   7 the deadline passes  ~ a sweep
struct situation {
    const char *name;
    const char *way;
    const char *cells;  // what becomes of it by each operation: `RI`, or a refusal `!F`
};

// clang-format off
static const struct situation situations[] = {
//  The columns are the operations above, in their order:
//                              sub can chg ret claim, work: sta hea pro put fai com fin +do don,
//                              fail retryable, terminal, cancelled, release, sweep boot
    { "held",                "h",   "Q- F- C- !C C- !n !n !n !n !n !n !n !n !n !n !n !n !n C- C-" },
    { "delayed",             "d",   "!C F- Q- !C Q- !n !n !n !n !n !n !n !n !n !n !n !n !n Q- Q-" },
    { "ready",               "",    "!C F- Q- !C RL !n !n !n !n !n !n !n !n !n !n !n !n !n Q- Q-" },
    { "blocked",             "k",   "!C F- Q- !C Q- !n !n !n !n !n !n !n !n !n !n !n !n !n Q- Q-" },
    { "ready too long",      "w5",  "!C F- Q- !C RL !n !n !n !n !n !n !n !n !n !n !n !n !n F- Q-" },
    { "given back",          "lr",  "!C FA QA !C RL !F !F !F !F !F !F !F !F !F !F !F !F QA QA QA" },
    { "backing off",         "st",  "!C FA WA !C WA !F !F !F !F !F !F !F !F !F WA !F !F !F WA WA" },
    { "backing off, due",    "st7", "!C FA WA !C WA !F !F !F !F !F !F !F !F !F WA !F !F !F QA WA" },
    { "leased",              "l",   "!C RL !C !C RL RI RL !N !N !N !N !N !N !N WA FA FA QA RL WA" },
    { "leased, asked",       "lx",  "!C RL !C !C RL RI RL !N !N !N !N !N !N !N FA FA FA FA RL FA" },
    { "expired",             "l6",  "!C RL !C !C RL !F !F !F !F !F !F !F !F !F !F !F !F !F WA WA" },
    { "expired, asked",      "lx6", "!C RL !C !C RL !F !F !F !F !F !F !F !F !F !F !F !F !F FA FA" },
    { "running",             "s",   "!C RI !C !C RI RI RI RI RI RI RM RM SD !C WA FA FA QA RI WA" },
    { "started later",       "lS",  "!C RI !C !C RI RI RI RI RI RI RM RM SD !C WA FA FA QA RI WA" },
    { "running, asked",      "sx",  "!C RI !C !C RI RI RI RI RI RI RM RM SD !C FA FA FA FA RI FA" },
    { "silent",              "s6",  "!C RI !C !C RI !F !F !F !F !F !F !F !F !F !F !F !F !F WA WA" },
    { "silent, asked",       "sx6", "!C RI !C !C RI !F !F !F !F !F !F !F !F !F !F !F !F !F FA FA" },
    { "late",                "sbb7","!C RI !C !C RI !F !F !F !F !F !F !F !F !F !F !F !F !F TA WA" },
    { "late, asked",        "sxbb7","!C RI !C !C RI !F !F !F !F !F !F !F !F !F !F !F !F !F FA FA" },
    { "committed",           "sc",  "!C !A !C !C RM !A RM RM !A !A RM RM SD SD !A !A !A !A RM SD" },
    { "committed, asked",    "sxc", "!C !A !C !C RM !A RM RM !A !A RM RM SD SD !A !A !A !A RM SD" },
    { "committed, expired",  "sc6", "!C !A !C !C RM !A !F !F !F !F RM RM RM !F !A !A !A !A SD SD" },
    { "finishing",           "sp",  "!C !A !C !C RM !A RM RM !A !A RM RM SD SD RM RM RM RM RM RM" },
    { "finishing, asked",    "sxp", "!C !A !C !C RM !A RM RM !A !A RM RM SD SD RM RM RM RM RM RM" },
    { "finishing, expired",  "sp6", "!C !A !C !C RM !A !F !F !F !F RM RM RM !F !F !F !F !F RM RM" },
    { "to be finished",      "spr", "!C !A !C !C RM !A !F !F !F !F RM RM RM !F RM RM RM RM RM RM" },
    { "finish failed",       "spt", "!C !A !C !C RM !A !F !F !F !F RM RM RM !F RM RM RM RM RM RM" },
    { "finishing, other",    "sprf","!C !A !C !C RM !A RM RM !A !A RM RM SD SD RM RM RM RM RM RM" },
    { "succeeded",           "scD", "!T !T !T SD SD !A !F !F !F !F SD SD SD SD !A !A !A !A SD SD" },
    { "failed",              "sv",  "!T !T !T FA FA !F !F !F !F !F !F !F !F !F !F FA !F !F FA FA" },
    { "stopped",             "sxX", "!T !T !T FA FA !F !F !F !F !F !F !F !F !F !F !F FA !F FA FA" },
    { "stopped, given back", "sxr", "!T !T !T FA FA !F !F !F !F !F !F !F !F !F !F !F !F FA FA FA" },
    { "cancelled",           "x",   "!T !T !T F- F- !n !n !n !n !n !n !n !n !n !n !n !n !n F- F-" },
    { "cancelled, retried",  "stx", "!T !T !T FA FA !F !F !F !F !F !F !F !F !F FA !F !F !F FA FA" },
    { "waited too long",     "w5~", "!T !T !T F- F- !n !n !n !n !n !n !n !n !n !n !n !n !n F- F-" },
    { "timed out",          "sbb7~","!T !T !T TA TA !F !F !F !F !F !F !F !F !F !F !F !F !F TA TA" },
};
// clang-format on

static struct contract contract_of(struct box *box, const char *way)
{
    struct contract contract = contract_for(box, "report");
    contract.policy.max_attempts = 3;
    contract.policy.on_timeout = ON_TIMEOUT_TIMED_OUT;
    contract.policy.timeout_us = SECONDS(60);
    contract.hold = strchr(way, 'h') != NULL;
    if (strchr(way, 'd'))
        contract.scheduled_for = box->world.wall + HOURS(1);
    if (strchr(way, 'k'))
        contract.serial_key = S("one at a time");
    if (strchr(way, 'w'))
        contract.max_wait_us = SECONDS(1);
    return contract;
}

static void lease_it(struct box *box, struct attempt_at *a, const char *worker, bool start)
{
    a->lease = start ? must_start(box, worker) : must_claim(box, worker);
}

static void must(struct attempt_at *a,
                 bool (*act)(struct tx *tx, const struct attempt_at *a, struct pawl_error *err))
{
    struct box *box = a->box;
    OK(act(tx, a, err));
}

static void step_on(struct attempt_at *a, char step)
{
    static const struct {
        char letter;
        bool (*act)(struct tx *tx, const struct attempt_at *a, struct pawl_error *err);
        int64_t pass_us;
    } steps[] = {
        { 'S', do_start, 0 },
        { 'x', do_cancel, 0 },
        { 'c', do_commit, 0 },
        { 'p', do_commit_finish, 0 },
        { 'D', do_done, 0 },
        { 't', do_fail_retryable, 0 },
        { 'v', do_fail_terminal, 0 },
        { 'r', do_release, 0 },
        { 'X', do_fail_cancelled, 0 },
        { '~', do_sweep, 0 },
        { 'b', do_beat, SECONDS(20) },
        { '5', NULL, SECONDS(1) },
        { '6', NULL, SECONDS(30) },
        { '7', NULL, SECONDS(60) },
    };
    if (step == 'l' || step == 's')
        lease_it(a->box, a, "A", step == 's');
    if (step == 'f')
        lease_it(a->box, a, "B", false);
    for (size_t i = 0; i < countof(steps); i++) {
        if (steps[i].letter != step)
            continue;
        pass(a->box, steps[i].pass_us);
        if (steps[i].act)
            must(a, steps[i].act);
    }
}

static void arrive(struct box *box, const struct situation *situation, struct attempt_at *a)
{
    box_open(box);
    *a = (struct attempt_at){ .box = box, .situation = situation->name };
    a->lease = (struct lease){ { 1, 1 }, 1, worker_named("A") };
    struct contract contract = contract_of(box, situation->way);
    if (contract.serial_key.n) {
        must_add(box, &contract);
        must_start(box, "Z");
    }
    a->job = must_add(box, &contract).id;
    for (const char *step = situation->way; *step; step++)
        step_on(a, *step);
}

// ----- what is there, in two letters

struct pair {
    char job, execution;
};

static struct pair look(struct box *box, struct id id)
{
    struct execution *executions = NULL;
    struct job job;
    size_t count = 0;
    OK(job_load_row(tx, id.high, &job, err));
    OK(executions_of_job(tx, id.high, &executions, &count, err));
    return (struct pair){ job_letters[job.state],
                          count ? execution_letters[executions[count - 1].status] : '-' };
}

// A release passes through RETRYING and a commit with done through COMMITTED, in one transaction; a
// claim makes a new execution.
static void expect_allowed(size_t operation, struct pair from, struct pair to)
{
    const char *name = operations[operation].name;
    bool released = strcmp(name, "release") == 0 && from.job == 'R' && to.job == 'Q';
    bool at_once = strcmp(name, "commit and done") == 0 && from.execution == 'I'
                && to.execution == 'D';
    bool claimed = strcmp(name, "claim") == 0 && to.execution == 'L';
    bool cancels = strcmp(name, "cancel") == 0;
    EXPECT(from.job == to.job || released
           || among(cancels ? cancel_moves : job_moves, from.job, to.job));
    EXPECT(from.execution == to.execution || at_once || claimed
           || among(execution_moves, from.execution, to.execution));
}

static struct {
    size_t tried, refused, moved;
} tally;

static enum pawl_code code_of(char letter)
{
    for (size_t i = 0; i < countof(refusals); i++)
        if (refusals[i].letter == letter)
            return refusals[i].code;
    return PAWL_OK;  // which no refusal answers
}

static enum pawl_code act(const struct attempt_at *a, size_t operation)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(a->box, &tx);
    bool done = operations[operation].act(&tx, a, &err);
    box_commit(&tx);
    return done ? PAWL_OK : err.code;
}

// Does the operation and holds what comes of it against the cell. False when that is a refusal:
// then the store must be as it was, to the last row.
static bool try_cell(const struct attempt_at *a, size_t operation, const char *cell)
{
    struct pair from = look(a->box, a->job);
    bool refused = cell[0] == '!';
    struct str before = refused ? box_contents(a->box) : S("");
    enum pawl_code code = act(a, operation);
    struct pair to = look(a->box, a->job);
    bool right = refused ? code == code_of(cell[1]) && str_eq(before, box_contents(a->box))
                         : code == PAWL_OK && to.job == cell[0] && to.execution == cell[1];
    if (!right)
        print_error("%s, %s: %c%c became %c%c with %s, not %.2s\n", a->situation,
                    operations[operation].name, from.job, from.execution, to.job, to.execution,
                    pawl_code(code)->word, cell);
    EXPECT(right);
    expect_allowed(operation, from, to);
    tally.tried++;
    tally.refused += refused;
    tally.moved += from.job != to.job || from.execution != to.execution;
    return !refused;
}

// ----- who asks

enum guise { RIGHT,
             WRONG_WORKER,
             WRONG_ATTEMPT,
             OTHER_ORG,
             GUISES };

static const char *const guises[] = { "the right one", "another worker", "another attempt",
                                      "another org" };

// Puts on the guise; answers what must come of it, NULL when it makes no difference.
static const char *dress(struct attempt_at *a, size_t operation, enum guise guise,
                         const char *cell, const char *now)
{
    enum who who = operations[operation].who;
    bool no_execution = who == BY_WORKER && strncmp(cell, "!n", 2) == 0;
    if (guise == RIGHT)
        return cell;
    if (guise == OTHER_ORG) {
        a->box->caller.org_id = S("00000000-0000-7000-8000-00000000000b");
        if (who == BY_PAWL)
            return strcmp(operations[operation].name, "claim") == 0 ? now : NULL;
        return "!n";
    }
    if (who != BY_WORKER)
        return NULL;
    if (guise == WRONG_WORKER)
        a->lease.worker = worker_named("Y");
    else
        a->lease.attempt++;
    return no_execution ? "!n" : "!F";
}

// ----- the matrix

static const char *cell_at(const struct situation *situation, size_t operation)
{
    const char *cell = situation->cells;
    if (operation == OPERATIONS - 1)  // what is too late to cancel because it committed
        return strncmp(cell_at(situation, 1), "!A", 2) == 0 ? "SD" : "!C";
    for (size_t i = 0; i < operation; i++) {
        cell += strcspn(cell, " ");
        cell += strspn(cell, " ");
    }
    return cell;
}

static void try_situation(const struct situation *situation, enum guise guise)
{
    struct box box;
    struct attempt_at there;
    bool arrived = false;
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (!arrived)
            arrive(&box, situation, &there);
        arrived = true;
        struct pair pair = look(&box, there.job);
        const char now[] = { pair.job, pair.execution, 0 };
        struct attempt_at a = there;
        const char *cell = dress(&a, i, guise, cell_at(situation, i), now);
        if (cell && try_cell(&a, i, cell)) {
            box_close(&box);
            arrived = false;
        }
        box.caller.org_id = DEFAULT_ORG;
    }
    if (arrived)
        box_close(&box);
}

static void try_all(enum guise guise)
{
    tally.tried = tally.refused = tally.moved = 0;
    for (size_t i = 0; i < countof(situations); i++)
        try_situation(&situations[i], guise);
    print_message("%s: %zu pairs of situation and operation tried: %zu refused, %zu moved\n",
                  guises[guise], tally.tried, tally.refused, tally.moved);
}

TEST(JOB_1_in_every_situation_every_operation_makes_only_the_listed_moves)
{
    try_all(RIGHT);
    EXPECT_INT(tally.tried, countof(situations) * OPERATIONS);
    EXPECT(tally.moved > 0 && tally.refused > tally.moved);
}

TEST(EXEC_3_in_every_situation_another_worker_is_refused)
{
    try_all(WRONG_WORKER);
    EXPECT_INT(tally.refused, tally.tried);
}

TEST(EXEC_3_in_every_situation_another_attempt_is_refused)
{
    try_all(WRONG_ATTEMPT);
    EXPECT_INT(tally.refused, tally.tried);
}

TEST(OPS_10_in_every_situation_another_org_finds_nothing)
{
    try_all(OTHER_ORG);
    EXPECT_INT(tally.moved, 0);
    EXPECT_INT(tally.refused, tally.tried - countof(situations));
}

static void meet(char *met, size_t size, char from, char to)
{
    if (from != to && !among(met, from, to))
        snprintf(met + strlen(met), size - strlen(met), "%c%c ", from, to);
}

static void expect_all_met(const char *moves, const char *met)
{
    for (const char *move = moves; *move; move += move[2] ? 3 : 2) {
        if (!among(met, move[0], move[1]))
            print_error("no cell of the table moves %.2s\n", move);
        EXPECT(among(met, move[0], move[1]));
    }
}

// The table leaves nothing out: each listed move of both machines is the outcome of some cell.
TEST(EXEC_2_the_matrix_meets_every_listed_move)
{
    char jobs[256] = "", executions[256] = "";
    for (size_t i = 0; i < countof(situations); i++) {
        struct box box;
        struct attempt_at there;
        arrive(&box, &situations[i], &there);
        struct pair from = look(&box, there.job);
        box_close(&box);
        for (size_t operation = 0; operation < OPERATIONS; operation++) {
            const char *cell = cell_at(&situations[i], operation);
            if (cell[0] == '!')
                continue;
            meet(jobs, sizeof jobs, from.job, cell[0]);
            meet(executions, sizeof executions, from.execution, cell[1]);
        }
    }
    expect_all_met(job_moves, jobs);
    expect_all_met(cancel_moves, jobs);
    expect_all_met(execution_moves, executions);
}

// ----- statements

static bool known_state(struct str name, const char *kind, char *letter)
{
    enum job_state state;
    enum execution_status status;
    if (strcmp(kind, "job") == 0 && job_state_parse(name, &state))
        *letter = job_letters[state];
    else if (strcmp(kind, "execution") == 0 && execution_status_parse(name, &status))
        *letter = execution_letters[status];
    else
        return false;
    return true;
}

// `job QUEUED -> RUNNING`: both words are states, and the move is one of the listed.
static bool note_allowed(struct str note)
{
    struct str kind, from, arrow, to;
    char first, second;
    str_cut(note, ' ', &kind, &from);
    str_cut(from, ' ', &from, &arrow);
    str_cut(arrow, ' ', &arrow, &to);
    bool job = str_eq(kind, S("job"));
    const char *what = job ? "job" : "execution";
    return (job || str_eq(kind, S("execution"))) && str_eq(arrow, S("->"))
        && known_state(from, what, &first) && known_state(to, what, &second)
        && (among(job ? job_moves : execution_moves, first, second)
            || (job && among(cancel_moves, first, second)));
}

// What a statement assigns: the columns of an INSERT, the assignments of an UPDATE.
static struct str written(const char *sql)
{
    const char *end = strstr(sql, "WHERE"), *values = strstr(sql, "VALUES");
    if (!end || (values && values < end))
        end = values;
    return (struct str){ sql, end ? (size_t)(end - sql) : strlen(sql) };
}

static bool writes_state(const char *sql)
{
    bool executions = strstr(sql, "INSERT INTO executions") || strstr(sql, "UPDATE executions")
                   || strstr(sql, "UPDATE OR FAIL executions");
    bool outcomes = strstr(sql, "INSERT INTO outcomes") || strstr(sql, "UPDATE outcomes");
    const char *text = str_cstr(test_arena(), written(sql));
    return (executions && strstr(text, " status")) || (outcomes && strstr(text, " state"));
}

TEST(JOB_1_statements_declare_only_allowed_moves)
{
    size_t notes = 0, writers = 0;
    for (size_t i = 0; i < QUERIES; i++) {
        struct str rest = str_of(queries[i].moves), note;
        if (writes_state(queries[i].sqlite)) {
            writers++;
            if (rest.n == 0)
                print_error("%s writes a state and declares no move\n", queries[i].name);
            EXPECT(rest.n > 0);
        }
        for (bool more = rest.n > 0; more; notes++) {
            more = str_cut(rest, ';', &note, &rest);
            if (str_starts(rest, S(" ")))
                rest = (struct str){ rest.s + 1, rest.n - 1 };
            if (!note_allowed(note))
                print_error("%s declares `%.*s`\n", queries[i].name, STR(note));
            EXPECT(note_allowed(note));
        }
    }
    EXPECT(writers >= 8 && notes > writers);
    EXPECT(!note_allowed(S("job SUCCEEDED -> QUEUED")));
    EXPECT(!note_allowed(S("execution COMMITTED -> ABORTED")));
    EXPECT(!note_allowed(S("job QUEUED RUNNING")));
}
