#!/usr/bin/env bash
# pawl bench: what it prints, what it refuses, what it leaves behind. Nothing here is about speed.
set -u
pawl=${PAWL:?the binary under test}
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-bench-test.XXXXXX")
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
mkdir temporary
export TMPDIR=$here/temporary LC_ALL=C.UTF-8
unset PAWL_STORE
passed=0
failed=0

check() { # check NAME COMMAND...: a case that passes when the command does
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  out: %.900s\n  err: %.600s\n' "$1" "$(cat .out)" "$(cat .err)"
    fi
}

bench() { # bench WORDS...: runs it small; what it said is in .out and .err
    "$pawl" bench --jobs 40 --batch 20 --threads 3 --workers 2 "$@" >.out 2>.err
}

refused() { # refused STATUS PATTERN WORDS...: it says why, and prints no figure
    "$pawl" bench "${@:3}" >.out 2>.err
    [ $? = "$1" ] && grep -qE -- "$2" .err && [ ! -s .out ]
}

json() { # the expression holds of the JSON value `d` that was printed
    python3 -c 'import json, sys
d = json.load(open(".out", encoding="utf-8"))
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)' "$1"
}

says() { grep -qE -- "$1" .out; }
is() { [ "$1" = "$2" ]; }
nothing_left() { [ -z "$(ls -A temporary)" ]; }
jobs_in() { "$pawl" jobs --limit 10000 --json --store "$1" | python3 -c \
    'import json, sys; print(len(json.load(sys.stdin)["items"]))'; }
sound() { "$pawl" verify --store "$1" >.out 2>.err; }

# ----- what it prints

check BENCH_runs_on_a_temporary_store bench --mode embedded --json
check BENCH_says_what_was_measured json 'd["store"] == "temporary" and d["mode"] == "embedded"
    and (d["jobs"], d["payload_bytes"], d["batch"], d["workers"]) == (40, 200, 20, 2)'
check BENCH_has_every_figure json 'all(isinstance(d[name], (int, float)) and d[name] > 0 for name in
    "control_insert_per_s enqueue_per_s drain_per_s lifecycle_per_s lifecycle_over_control "
    "raw_commit_p50_us raw_commit_p99_us pickup_p50_us pickup_p99_us rss_bytes disk_bytes_per_job "
    "disk_bytes_per_queued_job runner_drain_per_s lifecycle_cpu_us control_cpu_us "
    "one_thread_enqueue_per_s threads_enqueue_per_s threads_over_one pickup_p50_over_commit "
    "pickup_p99_over_commit large_over_small".split())'
check BENCH_the_lifecycle_is_enqueue_and_drain json \
    'abs(1 / d["enqueue_per_s"] + 1 / d["drain_per_s"] - 1 / d["lifecycle_per_s"])
     < 0.05 / d["lifecycle_per_s"]'
check BENCH_the_ratio_is_that_of_the_figures json \
    'abs(d["lifecycle_per_s"] / d["control_insert_per_s"] - d["lifecycle_over_control"]) < 0.001'
check BENCH_quantiles_are_in_order json 'd["pickup_p50_us"] <= d["pickup_p99_us"]'
check BENCH_whole_bytes json 'all(isinstance(d[name], int) for name in
    ("rss_bytes", "disk_bytes_per_job", "disk_bytes_per_queued_job"))'
check BENCH_compares_with_nothing_unasked json \
    'd["base"] is None and d["base_lifecycle_per_s"] is None and d["lifecycle_over_base"] is None'
check BENCH_has_every_transition json '[(t["transition"], t["group"]) for t in d["transitions"]]
    == [(name, group) for group in (1, 20)
        for name in ("claim", "start", "heartbeat", "commit", "done")]'
check BENCH_the_parts_are_the_file json \
    'abs(sum(row["finished_bytes_per_job"] for row in d["disk"]) - d["disk_bytes_per_job"])
     < 1 + 0.05 * len(d["disk"])'
check BENCH_leaves_nothing_behind nothing_left

check BENCH_compares_a_backlog_with_an_empty_store bench --queued 60 --blocked 5 --json
check BENCH_says_what_the_base_is json 'd["base"] == "an empty store"
    and d["base_lifecycle_per_s"] > 0 and d["lifecycle_over_base"] > 0 and d["fill_per_s"] > 0'

check BENCH_compares_tenants_with_one bench --queued 30 --orgs 7 --types 3
check BENCH_the_ratio_is_said_first is "$(head -c 16 .out)" "A full lifecycle"
check BENCH_says_it_to_people says 'The base is one org and one job type'
check BENCH_explains_itself says 'pickup: enqueue call to handler start'

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
check BENCH_cleans_up_beside_the_store is "$(find . -name 'pawl-bench-*')" ''

# ----- refusals

check BENCH_refuses_http_for_now refused 2 'needs a server' --mode http
check BENCH_refuses_another_mode refused 2 'embedded or http' --mode carrier-pigeon
check BENCH_refuses_a_large_batch refused 2 '--batch must be 1 to 1000' --batch 1001
check BENCH_refuses_no_jobs refused 2 '--jobs must be 1 to' --jobs 0
check BENCH_refuses_what_is_no_number refused 2 'a whole number' --payload big
check BENCH_refuses_a_small_payload refused 2 '--payload must be 20 to 1048576' --payload 2
check BENCH_refuses_another_database refused 2 'sqlite:FILE' --store postgres://localhost/x
TMPDIR=$here/nowhere check BENCH_says_when_there_is_no_place refused 1 'cannot make a directory'

# ----- interrupted

# Waits for the first file, so that the signal comes in the middle.
interrupt() {
    "$pawl" bench --jobs 10000000 >.out 2>.err &
    local pid=$!
    until [ -n "$(find temporary -name store.db)" ]; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
    kill "-$1" "$pid"
    wait "$pid"
    [ $? = "$2" ] && nothing_left
}

check BENCH_a_signal_leaves_nothing_behind interrupt TERM 143

printf 'pawl-cases: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
