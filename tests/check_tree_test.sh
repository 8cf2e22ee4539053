#!/usr/bin/env bash
# The tree obeys its own rules, and the checker finds every offence it says it finds.
set -u
cd "${SOURCE:-$(dirname "$0")/..}" || exit 1
passed=0
failed=0
for command in "tools/check-tree --self-test" tools/check-tree; do
    if $command; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
