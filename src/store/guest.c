// The port's half of guests: each driver has its own guards.
#include "store/guest.h"

#include "store/driver.h"

int64_t guest_enter(struct tx *tx, int64_t allowed_us)
{
    return tx->db->driver->guests->enter(tx, allowed_us);
}

bool guest_leave(struct tx *tx, struct pawl_error *err)
{
    return tx->db->driver->guests->leave(tx, err);
}

void guest_evict(struct tx *tx)
{
    tx->db->driver->guests->evict(tx);
}

bool guest_execute(struct tx *tx, const char *sql, struct pawl_error *err)
{
    return tx->db->driver->guests->execute(tx, sql, err);
}

void guest_pause(struct tx *tx)
{
    tx->db->driver->guests->pause(tx);
}

void guest_resume(struct tx *tx)
{
    tx->db->driver->guests->resume(tx);
}

void *guest_connection(struct db *db)
{
    return db->driver->guests->connection(db);
}

void db_hold(struct db *db)
{
    db->driver->guests->hold(db);
}

void db_release(struct db *db)
{
    db->driver->guests->release(db);
}
