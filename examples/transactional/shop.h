// A shop: an order and the job that sends its invoice are one transaction.
//
// The shop's tables live in Pawl's store. `orders` is written together with the job; `invoices` is
// written by the job's commit, in the transaction that marks the job COMMITTED; the mail goes out
// after it, and again after a crash, under a key that never changes.
#pragma once

#include <pawl.h>

struct shop {
    struct pawl *pawl;
    const char *mail_directory;  // stands for the mail provider
};

// Opens the shop on a store and makes its tables. Close it with shop_close.
bool shop_open(struct shop *shop, const char *store, const char *mail_directory,
               struct pawl_error *err);
void shop_close(struct shop *shop);

// Begins to send invoices in the background.
bool shop_start(struct shop *shop, struct pawl_error *err);

struct order {
    const char *customer;
    int64_t cents;
    int64_t number;               // set by shop_place ...
    char job_id[PAWL_ID_BYTES];   // ... and so is this
    void (*halfway)(void);        // called between the two, by those who kill; NULL: nobody
};

// Stores the order and the job that sends its invoice: both, or, after false, none.
bool shop_place(struct shop *shop, struct order *order, struct pawl_error *err);

// One number out of the tables.
bool shop_ask(struct shop *shop, const char *sql, int64_t *answer, struct pawl_error *err);
