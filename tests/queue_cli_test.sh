#!/usr/bin/env bash
# pawl queues and pawl queue on a store, as an operator uses them.
pawl=${PAWL:?the binary under test}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"

other_org=11111111-2222-4333-8444-555555555555
for _ in 1 2 3; do "$pawl" enqueue report.export --queue q:exports >/dev/null; done
"$pawl" enqueue report.export --queue q:exports --org "$other_org" >/dev/null
"$pawl" enqueue report.export --at +1h >/dev/null

expect every_org_is_counted 0 '^q:exports +- +4 +0 ' queues
expect one_org_is_counted 0 '^q:exports +- +1 +0 ' queues --org "$other_org"
expect places_are_told_apart 0 '"delayed":1,' queues --json
expect rates_are_shown 0 '^q:exports +- +4 +0 +(now|.* ago) +4 +0 ' queues
expect rates_of_one_org 0 ".enqueued_per_minute.:1,.ended_per_minute.:0," queues --json \
    --org "$other_org"
expect limits_are_shown 0 '^q:critical .* 9 +1000 +- +-$' queues
expect pause_all 0 '^q:exports paused$' queue pause q:exports
expect pause_is_seen 0 '^q:exports +yes +4' queues
expect resume_all 0 '^q:exports resumed$' queue resume q:exports
expect pause_share 0 '"done":"paused"' queue pause q:exports --org "$other_org" --json
expect share_is_seen 0 '^q:exports +its share +1' queues --org "$other_org"
expect others_do_not_see_it 0 '^q:exports +- +4' queues
expect resume_share 0 'resumed' queue resume q:exports --org "$other_org"
expect purge_asks_first 0 'not purged without --yes: 1 job$' \
    queue purge q:exports --org "$other_org"
expect nothing_was_purged 0 '^q:exports +- +4' queues
expect purge_share 0 'q:exports purged: 1 job$' queue purge q:exports --org "$other_org" --yes
expect purge_all 0 '"jobs":3' queue purge q:exports --yes --json
expect purge_again 0 'purged: 0 jobs' queue purge q:exports --yes
expect what_was_purged_failed 0 'FAILED' jobs --queue q:deadletter
expect unknown_queue 3 'no queue q:nope' queue pause q:nope
expect unknown_queue_is_not_purged 3 'no queue q:nope' queue purge q:nope --yes
expect unknown_verb 2 'pause, resume or purge' queue smash q:exports
expect no_queue 2 'queue' queue pause
expect no_store 3 'other.db' queues --store sqlite:other.db
expect numbers_are_right 0 '^0 violations$' verify

conclude
