#!/usr/bin/env bash
# `pawl schedule explain` as a person and a script meet it.
# shellcheck disable=SC2016  # messages quote with backticks
pawl=${PAWL:?the binary under test}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
unset TZDIR

explain() { run "$pawl" schedule explain "$@"; }
silent() { [ ! -s "$1" ]; }

# ----- what it prints

explain '*/7 9-17 * * 1-5' --timezone Europe/Berlin --from 2026-11-13T16:50:00Z --count 3
check SLOT_explain_ends_with_0 ended 0
check SLOT_explain_says_it_in_words_and_slots prints \
'every 7 minutes from 9:00 to 17:59, Monday to Friday, Europe/Berlin

SLOT                      LOCAL                      DAY  NOTE
2026-11-13T16:56:00.000Z  2026-11-13T17:56:00+01:00  Fri  -
2026-11-16T08:00:00.000Z  2026-11-16T09:00:00+01:00  Mon  -
2026-11-16T08:07:00.000Z  2026-11-16T09:07:00+01:00  Mon  -'

explain '30 2 * * *' --timezone Europe/Berlin --from 2026-03-28T12:00:00Z --count 2
check SLOT_explain_marks_a_slot_after_a_gap \
    grep -qxF '2026-03-29T01:00:00.000Z  2026-03-29T03:00:00+02:00  Sun  '"its time does not come: \
the clock is set forward" .out
explain '30 2 * * *' --timezone Europe/Berlin --from 2026-10-24T12:00:00Z --count 2
check SLOT_explain_marks_the_first_of_two \
    grep -qxF "2026-10-25T00:30:00.000Z  2026-10-25T02:30:00+02:00  Sun  its time comes twice: \
the first" .out

explain '0 0 1 1 *'
check SLOT_explain_shows_ten_slots_in_utc [ "$(grep -c '01-01T00:00:00+00:00' .out)" = 10 ]
explain '@hourly' --from 2026-01-01T00:00:00Z --count 1
check SLOT_explain_begins_with_the_slot_of_from grep -q '^2026-01-01T00:00:00.000Z' .out
explain '0 0 1 1 *' --from 9998-06-01T00:00:00Z
check SLOT_explain_ends_with_the_year_9999 [ "$(grep -c '^9999' .out)" = 1 ]

for interval in 15m 'every 15m'; do
    explain "$interval" --timezone Asia/Kathmandu --from 2026-01-01T00:01:00Z --count 1
    check "SLOT_explain_takes_${interval// /_}" prints \
'every 15m, counted from 1970-01-01T00:00:00Z

SLOT                      LOCAL                      DAY  NOTE
2026-01-01T00:15:00.000Z  2026-01-01T06:00:00+05:45  Thu  -'
done

explain '30 2 * * *' --timezone Europe/Berlin --from 2026-03-28T12:00:00Z --count 2 --json
check SLOT_explain_as_json json 'd == {"expression": "30 2 * * *", "timezone": "Europe/Berlin",
    "words": "every day at 2:30, Europe/Berlin", "items": [
        {"scheduled_for": "2026-03-29T01:00:00.000Z", "local_time": "2026-03-29T03:00:00+02:00",
         "clock_change": "after_gap"},
        {"scheduled_for": "2026-03-30T00:30:00.000Z", "local_time": "2026-03-30T02:30:00+02:00",
         "clock_change": None}]}'

# ----- what it refuses

explain '61 * * * 9' --timezone Europe/Berlni
check SLOT_explain_refuses_with_1 ended 1
check SLOT_explain_names_the_field says 'EXPR: cron `61 * * * 9`: minute `61`: may be 0 to 59'
check SLOT_explain_names_every_field says 'day of week `9`: may be 0 to 7'
check SLOT_explain_names_the_zone_too \
    says '--timezone: there is no time zone `Europe/Berlni`: did you mean Europe/Berlin?'
check SLOT_explain_prints_nothing_then silent .out
explain '0 0 30 2 *'
check SLOT_explain_knows_what_never_comes says 'never comes'
explain 'every 10x'
check SLOT_explain_refuses_what_is_no_interval says '`10x` is no interval'
explain 'every 500ms'
check SLOT_explain_refuses_an_interval_that_is_too_short says 'an interval must be 1s to 366d'
explain $'\e[31m * * * *'
check SLOT_explain_shows_no_escape_sequence [ "$(grep -c $'\e' .err)" = 0 ]
explain
check SLOT_explain_needs_an_expression ended 2
explain '* * * * *' --count 0
check SLOT_explain_refuses_a_count_of_0 ended 2
check SLOT_explain_left_no_store [ -z "$(find . -name '*.db*')" ]

PAWL_SERVER=http://127.0.0.1:9 PAWL_STORE=sqlite:/nowhere/x.db explain '* * * * *'
check SLOT_explain_needs_neither_server_nor_store ended 0

conclude
