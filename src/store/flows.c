// Two lines of arithmetic, and a ring of rows that has one place more than periods are looked at.
#include "store/flows.h"

#include "store/driver.h"

#define PERIOD_US SECONDS(10)

enum { PERIODS = 6,  // a minute
       RING = 8 };

int64_t flow_period(pawl_time now)
{
    return now / PERIOD_US;
}

int64_t flow_weight(int64_t period, pawl_time now)
{
    int64_t age = flow_period(now) - period;
    if (age >= 0 && age < PERIODS)
        return FLOW_WHOLE;
    return age == PERIODS ? FLOW_WHOLE - now % PERIOD_US * FLOW_WHOLE / PERIOD_US : 0;
}

bool flow_add(struct tx *tx, int64_t org, int64_t queue, int64_t period,
              const int64_t flows[FLOWS], struct pawl_error *err)
{
    return sql_run(tx, Q_QUEUE_FLOW_ADD, err, INT(org), INT(queue), INT(period % RING),
                   INT(period), INT(flows[FLOW_ENQUEUED]), INT(flows[FLOW_ENDED]));
}
