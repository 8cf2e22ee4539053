// In which order jobs are run, and how many of one key at once (RUN-9, RUN-2).
#include "shop.h"

enum { SEEN_MAX = 4096, KEYS = 5 };

struct ledger {
    pthread_mutex_t mutex;
    int order[SEEN_MAX];
    int count;
    _Atomic int inside[KEYS], most[KEYS];
};

static int number_in(const char *payload, const char *name)
{
    const char *at = strstr(payload, name);
    return at ? (int)strtol(at + strlen(name) + 2, NULL, 10) : -1;
}

static bool note(struct pawl_run *run, void *context)
{
    struct ledger *ledger = context;
    int key = number_in(pawl_payload(run), "key");
    int inside = key >= 0 ? ++ledger->inside[key] : 0;
    if (inside > 1)
        ledger->most[key] = inside;
    pthread_mutex_lock(&ledger->mutex);
    ledger->order[ledger->count++] = number_in(pawl_payload(run), "n");
    pthread_mutex_unlock(&ledger->mutex);
    if (key >= 0)
        ledger->inside[key]--;
    return true;
}

static void add(struct shop *shop, int n, int key, int priority)
{
    char payload[64], name[16];
    snprintf(payload, sizeof payload, key < 0 ? "{\"n\":%d}" : "{\"n\":%d,\"key\":%d}", n, key);
    snprintf(name, sizeof name, "document-%d", key);
    struct pawl_job job = {
        .job_type = "note",
        .payload = payload,
        .serial_key = key < 0 ? NULL : name,
        .priority = priority,
    };
    shop_enqueue(shop, job);
}

TEST_SHOP(RUN_9_jobs_run_in_the_order_they_were_created, .virtual_time = true)
{
    enum { COUNT = 100 };
    struct ledger ledger = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &ledger });
    for (int i = 0; i < COUNT; i++)
        add(shop, i, -1, 0);
    shop_work(shop);
    EXPECT_INT(ledger.count, COUNT);
    for (int i = 0; i < COUNT; i++)
        EXPECT_INT(ledger.order[i], i);
}

TEST_SHOP(RUN_9_across_documents_the_oldest_is_first, .virtual_time = true)
{
    enum { COUNT = 60 };
    struct ledger ledger = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &ledger });
    for (int i = 0; i < COUNT; i++)
        add(shop, i, i * 7 % KEYS, 0);
    shop_work(shop);
    EXPECT_INT(ledger.count, COUNT);
    int last[KEYS] = {0};
    for (int i = 0; i < COUNT; i++) {
        int key = ledger.order[i] * 7 % KEYS;
        EXPECT(ledger.order[i] >= last[key]);
        last[key] = ledger.order[i];
    }
}

TEST_SHOP(RUN_9_a_higher_priority_goes_first, .virtual_time = true)
{
    struct ledger ledger = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &ledger });
    add(shop, 2, -1, 0);
    add(shop, 3, -1, -100);
    add(shop, 1, -1, 100);
    shop_work(shop);
    for (int i = 0; i < 3; i++)
        EXPECT_INT(ledger.order[i], i + 1);
}

// With threads and jobs leased ahead: of one document never two at once, and its oldest first.
TEST_SHOP(RUN_2_of_one_serial_key_one_job_runs_at_a_time_and_the_oldest_first, .workers = 4,
          .prefetch = 16)
{
    enum { COUNT = 400 };
    struct ledger ledger = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &ledger });
    shop_start(shop);
    for (int i = 0; i < COUNT; i++)
        add(shop, i, i % KEYS, 0);
    shop_work(shop);
    EXPECT_INT(ledger.count, COUNT);
    int last[KEYS];
    for (int i = 0; i < KEYS; i++) {
        EXPECT_INT(ledger.most[i], 0);
        last[i] = -1;
    }
    for (int i = 0; i < COUNT; i++) {
        int key = ledger.order[i] % KEYS;
        EXPECT(ledger.order[i] > last[key]);
        last[key] = ledger.order[i];
    }
}
