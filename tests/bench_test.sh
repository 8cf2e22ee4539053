#!/usr/bin/env bash
# pawl bench: what it prints, what it refuses, what it leaves behind. Nothing here is about speed.
pawl=${PAWL:?the binary under test}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
mkdir temporary
export TMPDIR=$here/temporary

bench() { # bench WORDS...: runs it small; what it said is in .out and .err
    "$pawl" bench --jobs 40 --batch 20 --threads 3 --workers 2 "$@" >.out 2>.err
}

refused() { # refused STATUS PATTERN WORDS...: it says why, and prints no figure
    "$pawl" bench "${@:3}" >.out 2>.err
    [ $? = "$1" ] && grep -qE -- "$2" .err && [ ! -s .out ]
}

shows() { grep -qE -- "$1" .out; }
nothing_left() { [ -z "$(ls -A temporary)" ]; }
jobs_in() { "$pawl" jobs --limit 10000 --json --store "$@" | python3 -c \
    'import json, sys; print(len(json.load(sys.stdin)["items"]))'; }
sound() { "$pawl" verify --store "$1" >.out 2>.err; }

# ----- what it prints

check BENCH_runs_on_a_temporary_store bench --mode embedded --json
check BENCH_says_what_was_measured json 'd["store"] == "temporary" and d["mode"] == "embedded"
    and (d["jobs"], d["payload_bytes"], d["batch"], d["workers"]) == (40, 200, 20, 2)'
check BENCH_has_every_figure json 'all(isinstance(d[name], (int, float)) and d[name] > 0 for name in
    "control_insert_per_s enqueue_per_s drain_per_s claim_per_s lifecycle_per_s "
    "lifecycle_over_control "
    "raw_commit_p50_us raw_commit_p99_us pickup_p50_us pickup_p99_us rss_bytes disk_bytes_per_job "
    "disk_bytes_per_queued_job runner_drain_per_s lifecycle_cpu_us control_cpu_us "
    "one_thread_enqueue_per_s threads_enqueue_per_s threads_over_one pickup_p50_over_commit "
    "pickup_p99_over_commit large_over_small".split())'
check BENCH_the_lifecycle_is_enqueue_and_drain json \
    'abs(1 / d["enqueue_per_s"] + 1 / d["drain_per_s"] - 1 / d["lifecycle_per_s"])
     < 0.05 / d["lifecycle_per_s"]'
check BENCH_claims_are_a_part_of_the_drain json 'd["claim_per_s"] > d["drain_per_s"]'
check BENCH_the_ratio_is_that_of_the_figures json \
    'abs(d["lifecycle_per_s"] / d["control_insert_per_s"] - d["lifecycle_over_control"]) < 0.001'
check BENCH_quantiles_are_in_order json 'd["pickup_p50_us"] <= d["pickup_p99_us"]'
check BENCH_whole_bytes json 'all(isinstance(d[name], int) for name in
    ("rss_bytes", "disk_bytes_per_job", "disk_bytes_per_queued_job"))'
check BENCH_compares_with_nothing_unasked json \
    'd["base"] is None and d["base_lifecycle_per_s"] is None and d["lifecycle_over_base"] is None
     and d["claim_over_base"] is None'
check BENCH_has_every_transition json '[(t["transition"], t["group"]) for t in d["transitions"]]
    == [(name, group) for group in (1, 20)
        for name in ("claim", "start", "heartbeat", "commit", "done")]'
check BENCH_the_parts_are_the_file json \
    'abs(sum(row["finished_bytes_per_job"] for row in d["disk"]) - d["disk_bytes_per_job"])
     < 1 + 0.05 * len(d["disk"])'
check BENCH_leaves_nothing_behind nothing_left

check BENCH_compares_a_backlog_with_an_empty_store bench --queued 60 --blocked 5 --json
check BENCH_says_what_the_base_is json 'd["base"] == "an empty store"
    and d["base_lifecycle_per_s"] > 0 and d["lifecycle_over_base"] > 0 and d["claim_over_base"] > 0
    and d["fill_per_s"] > 0'

check BENCH_compares_tenants_with_one bench --queued 30 --orgs 7 --types 3
check BENCH_the_ratio_is_said_first is "$(head -c 16 .out)" "A full lifecycle"
check BENCH_says_it_to_people shows 'The base is one org and one job type'
check BENCH_explains_itself shows 'pickup: enqueue call to handler start'

# ----- the server

# The processes that this one started and that still run, by the line they were started with.
servers() { pgrep -f "^pawl serve --store sqlite:$here/temporary/" || true; }

# As few open files as 400 leave room for 100 long-polls.
over_http() {
    (ulimit -n 400 && "$pawl" bench --mode http --jobs 500 --threads 3 "$@") >.out 2>.err
}

check BENCH_http_measures_a_server over_http --json
check BENCH_http_says_what_was_asked_of_it json 'd["mode"] == "http" and d["store"] == "temporary"
    and (d["jobs"], d["threads"], d["batch"], d["payload_bytes"]) == (500, 3, 100, 200)'
check BENCH_http_has_every_figure_of_a_server json \
    'all(isinstance(d[name], (int, float)) and d[name] > 0 for name in
    "http_enqueue_per_s http_enqueue_over_embedded embedded_enqueue_per_s http_drain_per_s "
    "http_drain_over_embedded embedded_drain_per_s http_post_p50_us http_post_p99_us "
    "raw_commit_p50_us raw_commit_p99_us paced_commit_p99_us http_post_p99_over_raw_p99 "
    "idle_rss_bytes idle_wakeups_per_s longpoll_count longpoll_rss_bytes serve_ready_ms "
    "longpoll_fresh_rss_bytes http_rss_bytes".split())'
check BENCH_http_ratios_of_a_server_are_those_of_its_figures json 'all(
    abs(d[a] / d[b] - d[ratio]) <= 0.02 * d[ratio] for ratio, a, b in (
    ("http_enqueue_over_embedded", "http_enqueue_per_s", "embedded_enqueue_per_s"),
    ("http_drain_over_embedded", "http_drain_per_s", "embedded_drain_per_s")))'
check BENCH_http_has_as_many_long_polls_as_files json 'd["longpoll_count"] == 100'
check BENCH_http_judges_by_its_targets json 'len(d["targets"]) == 7 and all(
    t["met"] == (d[t["figure"]] >= t["bound"] if t["way"] == ">=" else d[t["figure"]] <= t["bound"])
    for t in d["targets"])'
check BENCH_http_leaves_no_server is "$(servers)" ''
check BENCH_http_leaves_no_file_of_a_server nothing_left
check BENCH_http_says_it_to_people over_http
check BENCH_http_shows_targets shows 'idle_rss_bytes .* at most .* (met|missed) '
check BENCH_http_says_when_files_are_few shows 'Only 100 of 5000 long-polls'

# ----- a store of the user's

"$pawl" enqueue report.export '{}' --store sqlite:mine.db >.out 2>.err
check BENCH_refuses_a_store_that_holds_jobs refused 4 'holds jobs.*--force' --store sqlite:mine.db
check BENCH_a_refusal_changes_nothing is "$(jobs_in sqlite:mine.db)" 1
check BENCH_works_on_it_when_forced bench --store sqlite:mine.db --force --json
check BENCH_names_the_store json 'd["store"] == "sqlite:mine.db"'
check BENCH_leaves_the_users_job_alone is \
    "$("$pawl" jobs --type report.export --store sqlite:mine.db --json | grep -c QUEUED)" 1
check BENCH_leaves_a_sound_store sound sqlite:mine.db
check BENCH_makes_a_new_store bench --store sqlite:new.db --json
check BENCH_ends_all_its_jobs is \
    "$("$pawl" jobs --state QUEUED --store sqlite:new.db --json | grep -c job_id)" 0

# The worker remembers whose turn it was, as every worker does, so the first org is not served first
# in every claim.
ended_of() { # ended_of N: jobs of the Nth org that the lifecycles have ended
    jobs_in sqlite:orgs.db --org "00000000-0000-7000-8000-00000000000$1" \
        --type bench.000000000000 --state SUCCEEDED
}
check BENCH_orgs_have_jobs_on_one_store bench --queued 120 --orgs 3 --store sqlite:orgs.db --json
check BENCH_its_worker_lets_orgs_take_turns test "$(ended_of 0)" -lt $((2 * $(ended_of 2)))
check BENCH_cleans_up_beside_the_store is "$(find . -name 'pawl-bench-*')" ''

# ----- refusals

check BENCH_refuses_a_store_for_a_server refused 2 '--store is for --mode embedded' \
    --mode http --store sqlite:mine.db
check BENCH_refuses_a_backlog_for_a_server refused 2 '--queued is for --mode embedded' \
    --mode http --queued 5
check BENCH_refuses_another_mode refused 2 'embedded or http' --mode carrier-pigeon
check BENCH_refuses_a_large_batch refused 2 '--batch must be 1 to 1000' --batch 1001
check BENCH_refuses_no_jobs refused 2 '--jobs must be 1 to' --jobs 0
check BENCH_refuses_what_is_no_number refused 2 'a whole number' --payload big
check BENCH_refuses_a_small_payload refused 2 '--payload must be 20 to 1048576' --payload 2
check BENCH_refuses_another_database refused 2 "sqlite:FILE or postgres" --store mysql://localhost/x
TMPDIR=$here/nowhere check BENCH_says_when_there_is_no_place refused 1 'cannot make a directory'

# ----- interrupted

# Waits for what comes first, the file or the server, so that the signal comes in the middle.
interrupt() { # interrupt SIGNAL STATUS FIRST WORDS...
    "$pawl" bench --jobs 10000000 "${@:4}" >.out 2>.err &
    local pid=$!
    until [ -n "$($3)" ]; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
    kill "-$1" "$pid"
    { wait "$pid"; } 2>/dev/null
    [ $? = "$2" ]
}
store() { find temporary -name store.db; }

check BENCH_a_signal_ends_it interrupt TERM 143 store
check BENCH_a_signal_leaves_nothing_behind nothing_left
check BENCH_http_a_signal_ends_it_over_http interrupt TERM 143 servers --mode http
check BENCH_http_a_signal_leaves_no_file_of_a_server nothing_left
check BENCH_http_a_signal_leaves_no_server is "$(servers)" ''

# Nobody can tidy up after this one: the files stay, and the server goes.
dies_too() {
    interrupt KILL 137 servers --mode http || return 1
    for _ in $(seq 3000); do
        [ -z "$(servers)" ] && return 0
        sleep 0.01
    done
    return 1
}
check BENCH_http_its_death_ends_the_server dies_too

conclude
