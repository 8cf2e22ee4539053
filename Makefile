# The front door: a short name for each thing people do here. Meson and Ninja build, tools/ works.

PREFIX ?= /usr/local
CYCLES ?= 1000
KILLS ?= 300
CASES ?= 20000
STOPS ?= 5000
SEED ?= 1
FUZZ_S ?= 60
LOSSES ?= 100000
COMPOUND ?= 10000
STRIDE ?= 1
WAYS ?= 1
LOST ?= 100
ROUNDS ?= 3
SEEDS ?= 1..20000
SIM_S ?= 600
FILLS ?= 200
FILES ?= 10000
BLOWS ?= 200
CUTS ?= 500
HELD_S ?= 120
export DESTDIR

.PHONY: all run demo brief test test-postgres lint asan tsan check-tree bench bench-full
.PHONY: bench-postgres bench-postgres-snapshot
.PHONY: $(shell sed -n 's/^\(torture-[a-z-]*\|fuzz-[a-z-]*\):.*/\1/p' Makefile) coverage
.PHONY: format install deps clean help

all: ## builds build/pawl and libpawl (installs missing packages first, as run and test do)
	@tools/packages build
	@tools/build build product

run: all ## the server on 127.0.0.1:7319, with a sample configuration whose commands really run
	@PAWL=build/pawl examples/server/run

demo: all ## documents processed in parallel, the program killed with -9, recovery, verify
	@PAWL=build/pawl BUILD=build examples/documents/run

brief: ## the Daily Brief on its sample feeds: read, grouped by event, printed; then its page
	@tools/packages build
	@tools/build build examples/daily-brief/brief-worker examples/daily-brief/brief-web
	@BUILD=build examples/daily-brief/run

test: ## builds and runs every test; the last line is "N passed, N failed"
	@tools/packages build test
	@tools/build build
	@tools/run-tests build --no-suite postgres-long

test-postgres: ## every test that runs on PostgreSQL, also those that take minutes
	@tools/packages build test
	@tools/build build
	@tools/run-tests build --suite postgres --suite postgres-long

lint: ## formatter, gcc and clang without a warning, clang-tidy, cppcheck, shellcheck, check-tree
	@tools/packages build test lint
	@tools/lint

# The sanitizers upset gcc's flow analysis, so their builds do not stop at warnings; the others do.
asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan
	@tools/packages build test
	@tools/build build-asan -Db_sanitize=address,undefined -Doptimization=1 -Dwerror=false
	@tools/run-tests build-asan --timeout-multiplier 5

tsan: ## the C tests under ThreadSanitizer, in build-tsan
	@tools/packages build test
	@tools/build build-tsan -Db_sanitize=thread -Doptimization=1 -Dwerror=false
	@tools/run-tests build-tsan --timeout-multiplier 5 --suite c

coverage: ## lines and branches of the engine that the tests reach, in build-coverage
	@tools/packages build test
	@tools/coverage

check-tree: ## layers, banned functions, sizes, loose ends
	@tools/packages build
	@tools/check-tree

bench: ## what Pawl does on this machine, beside plain inserts; small, into build/bench-small
	@tools/packages build
	@tools/build build pawl
	@bench/suite --small --output build/bench-small

bench-full: ## the same in full, into docs/benchmarks.*: ten minutes and 10 GB below TMPDIR
	@tools/packages build bench
	@tools/build build pawl
	@bench/suite

bench-postgres: ## Pawl on PostgreSQL beside graphile-worker and pg-boss, into docs/benchmarks.md
	@tools/packages build test
	@tools/build build pawl
	@bench/postgres --queued 1000000 --output docs/benchmarks.md

bench-postgres-snapshot: ## a claim there while an old snapshot is held for HELD_S=120 seconds
	@tools/packages build test
	@tools/build build pawl bench/snapshot
	@bench/postgres --snapshot $(HELD_S)

torture-kill: ## the kill -9 loop, CYCLES=1000 times instead of the sample in test
	@tools/packages build test
	@tools/build build
	@KILL_CYCLES=$(CYCLES) BUILD=build build/tests/kill_test lose_nothing

torture-runner: ## a program with 50 threads and a runner, killed with -9 KILLS=300 times
	@tools/packages build test
	@tools/build build
	@RUNNER_KILLS=$(KILLS) BUILD=build build/tests/runner_kill_test

torture-server: ## the server under load, killed with -9 KILLS=300 times
	@tools/packages build test
	@tools/build build
	@PAWL="$$PWD/build/pawl" SERVER_KILLS=$(KILLS) node tests/api/run.mjs tests/api/kill_test.mjs

torture-power: ## LOSSES=100000 power losses, COMPOUND=10000 each in recovery and after failed syncs
	@tools/packages build test
	@tools/build build
	@POWER_LOSSES=$(LOSSES) POWER_COMPOUND=$(COMPOUND) POWER_FORGOTTEN=$(COMPOUND) \
	    POWER_ABANDONED=$(COMPOUND) BUILD=build build/tests/power_test

torture-nth: ## every file operation, store call and way to an allocation (WAYS=0: each one) fails
	@tools/packages build test
	@tools/build build
	@NTH_STRIDE=$(STRIDE) NTH_WAYS=$(WAYS) BUILD=build build/tests/nth_test
	@NTH_STRIDE=$(STRIDE) BUILD=build build/tests/nth_program_test
	@NTH_STRIDE=$(STRIDE) BUILD=build build/tests/nth_whole_test whichever

torture-calls: ## each operation of each C test with every store call and allocation of it failing
	@tools/packages build test
	@tools/build build
	@tools/torture-calls build

torture-answers: ## every test with 1 in LOST=100 commits done and reported failed, ROUNDS=3 times
	@tools/packages build test
	@tools/build build
	@tools/torture-answers build --one-in $(LOST) --rounds $(ROUNDS) --seed $(SEED)

torture-damage: ## FILES=10000 damaged files under ASan, a disk filled and freed FILLS=200 times
	@tools/packages build test
	@tools/build build-asan -Db_sanitize=address,undefined -Doptimization=1 -Dwerror=false
	@DAMAGED_FILES=$(FILES) BUILD=build-asan build-asan/tests/damaged_file_test
	@DISK_CYCLES=$(FILLS) BUILD=build-asan build-asan/tests/disk_full_test

torture-cron: ## CASES=20000 cron expressions around DST changes, compared with two others
	@tools/packages build test
	@tools/build build
	@BUILD=build CRON_CASES=$(CASES) CRON_SEED=$(SEED) tests/cron_compare_test.sh

torture-stop: ## workers stopped with SIGSTOP past their leases, STOPS=5000 times, and woken
	@tools/packages build test
	@tools/build build
	@STOPS=$(STOPS) BUILD=build build/tests/stop_test

torture-models: ## the models of the protocol in larger sizes: minutes, and gigabytes of memory
	@tools/packages build test
	@tools/check-models --full

torture-postgres: ## three programs on a server that crashes and loses sessions, BLOWS=200 times
	@tools/packages build test
	@tools/build build
	@POSTGRES_BLOWS=$(BLOWS) PAWL_TEST_SYNC=1 BUILD=build PAWL=build/pawl SOURCE="$$PWD" \
	    tests/postgres/run build/tests/postgres_chaos_test

torture-postgres-cuts: ## CUTS=500 connections cut between a COMMIT and its answer
	@tools/packages build test
	@tools/build build
	@POSTGRES_CUTS=$(CUTS) BUILD=build PAWL=build/pawl \
	    tests/postgres/run build/tests/postgres_cut_test

torture-sim: ## the simulator on SEEDS=1..20000, for SIM_S=600 seconds; no mark may be missing
	@tools/packages build
	@tools/build build sim/sim
	@build/sim/sim --seeds $(SEEDS) --for $(SIM_S) --marks --progress

torture-sim-bugs: ## plants each mistake in turn: the simulator must find it in SEEDS=1..20000
	@tools/packages build
	@tools/build build sim/sim
	@build/sim/sim --bugs --seeds $(SEEDS)

fuzz-cron: ## libFuzzer on cron expressions, for FUZZ_S=60 seconds
	@tools/packages build lint
	@tools/fuzz cron $(FUZZ_S)

fuzz-zone: ## the same on time zone files
	@tools/packages build lint
	@tools/fuzz zone $(FUZZ_S)

format: ## rewrites the C sources as lint wants them
	@tools/packages lint
	@tools/format

install: export PREFIX := $(PREFIX)
install: ## installs program, library, manual, completions below PREFIX (/usr/local), after DESTDIR
	@tools/packages build
	@tools/build build product
	@said=$$(meson setup --reconfigure "-Dprefix=$$(realpath -ms -- "$$PREFIX")" build 2>&1) \
	    || { echo "$$said" >&2; exit 1; }
	@meson install -C build --no-rebuild --quiet
	@[ -n "$$DESTDIR" ] || [ "$$(id -u)" != 0 ] || ldconfig  # the loader must hear of libpawl.so

deps: ## installs every Debian package that building, testing and linting need
	@tools/packages build test lint

clean: ## removes what was built
	rm -rf build build-asan build-tsan build-clang build-coverage build-fuzz

help: ## this page
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile
