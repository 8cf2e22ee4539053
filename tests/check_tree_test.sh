#!/usr/bin/env bash
# The tree obeys its own rules, and the checker finds every offence it says it finds.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
cd "${SOURCE:?the source tree}" || exit 1
quietly the_checker_finds_every_offence tools/check-tree --self-test
quietly the_tree_obeys_its_rules tools/check-tree
conclude
