// All facts are the checker's; that a store verifies is looked at besides.
#include "crowds.h"

#include <stdio.h>
#include <string.h>

#include "checker.h"
#include "engine/verify.h"

uint64_t crowds_roll(struct crowds *crowds)
{
    uint64_t z = crowds->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Before it is ready a program asks once more, one by one, what the one before it was not answered,
// and the server may be recovering from a crash: on a busy machine that is more than a moment.
enum { START_WAIT_MS = 300000, LOOK_MS = 100, STUCK_MS = 60000 };

static struct process start(struct crowds *crowds, int number, const char *word)
{
    char seed[24], name[16], log[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)crowds_roll(crowds) >> 2);
    snprintf(name, sizeof name, "crowd-%d", number);
    snprintf(log, sizeof log, "crowd-%d.log", number);
    struct process process = process_start("crowd", scratch_store(&crowds->scratch),
                                           scratch_file(&crowds->scratch, log), name, seed,
                                           "patient", word);
    EXPECT(strcmp(process_hear_within(&process, START_WAIT_MS), "ready") == 0);
    return process;
}

void crowds_start(struct crowds *crowds, uint64_t seed)
{
    *crowds = (struct crowds){ .scratch = scratch_open(), .dice = seed };
    for (int i = 0; i < CROWDS; i++)
        crowds->programs[i] = start(crowds, i, NULL);
}

void crowd_replace(struct crowds *crowds, int number)
{
    process_kill(&crowds->programs[number]);
    crowds->programs[number] = start(crowds, number, NULL);
}

// As long as it becomes less: how much there is depends on how slow the machine was.
static void wait_for_all(struct crowds *crowds)
{
    static const char sql[] = "SELECT count(*) FROM pawl_jobs WHERE completed_at IS NULL";
    int64_t left = scratch_number(&crowds->scratch, sql), least = left;
    for (int64_t waited = 0; left != 0 && waited < STUCK_MS; waited += LOOK_MS) {
        wait_ms(LOOK_MS);
        left = scratch_number(&crowds->scratch, sql);
        if (left >= 0 && left < least) {
            least = left;
            waited = 0;
        }
    }
    EXPECT_INT(left, 0);
}

static void drain(struct crowds *crowds)
{
    for (int i = 0; i < CROWDS; i++) {
        EXPECT_INT(process_ended(&crowds->programs[i]), -1);  // it had no reason to end by itself
        process_kill(&crowds->programs[i]);
    }
    for (int i = 0; i < CROWDS; i++)
        crowds->programs[i] = start(crowds, i, "drain");
    wait_for_all(crowds);
    for (int i = 0; i < CROWDS; i++)
        EXPECT_INT(process_end(&crowds->programs[i]), 0);
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                STR(violation->detail));
}

static void must_verify(struct crowds *crowds)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct db_options options = { .url = str_of(scratch_store(&crowds->scratch)) };
    MUST(db_open(&db, &options, &err));
    MUST(verify(db, &(struct verify_options){ .found = print_violation }, &verified, &err));
    db_close(db);
    EXPECT_INT(verified.violations, 0);
}

// That callers were told `busy` or `in_doubt` is no fault here; they ask again until they know.
static bool is_fault(const struct check *check)
{
    return check->planted && strcmp(check->name, "errors") != 0;
}

static void judge(struct crowds *crowds, const char *title)
{
    sqlite3 *facts = checker_open(&crowds->scratch);
    int64_t faults = 0;
    printf("%s", title);
    for (size_t i = 0; i < checks_count; i++) {
        int64_t number = checker_count(facts, checks[i].name);
        faults += is_fault(&checks[i]) ? number : 0;
        printf(", %s %lld", checks[i].name, (long long)number);
    }
    printf("\n");
    EXPECT(checker_count(facts, "succeeded") > 0);
    checker_close(facts);
    EXPECT_INT(faults, 0);
}

void crowds_end(struct crowds *crowds, const char *title)
{
    drain(crowds);
    must_verify(crowds);
    judge(crowds, title);
    scratch_close(&crowds->scratch);
}
