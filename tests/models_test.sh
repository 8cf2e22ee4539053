#!/usr/bin/env bash
# The protocol as checked models, in their small sizes: each as it is and with every rule broken.
set -u
cd "${SOURCE:-$(dirname "$0")/..}" || exit 1
said=$(tools/check-models 2>&1)
status=$?
printf '%s\n' "$said"
passed=$(grep -c '^ok ' <<<"$said")
failed=$(grep -c '^BAD ' <<<"$said")
[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
printf 'pawl-cases: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
