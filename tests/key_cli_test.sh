#!/usr/bin/env bash
# pawl key and pawl org: what people see, what scripts get, and what nobody ever gets to see again.
set -u
pawl=${PAWL:?the program}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export PAWL_SERVER=  # whoever has a server on the default address is not asked
passed=0 failed=0
org=00000000-0000-7000-8000-0000000000bb
one=00000000-0000-7000-8000-0000000000a1 two=00000000-0000-7000-8000-0000000000a2

# check NAME STATUS PATTERN COMMAND...: exit status, and a pattern that the whole output must have.
check() {
    local name=$1 status=$2 pattern=$3 out code
    shift 3
    out=$("$@" 2>&1)
    code=$?
    if [[ $code == "$status" && $out =~ $pattern ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  status %s, not %s\n  %s\n' "$name" "$code" "$status" "$out"
    fi
}
# absent NAME TEXT COMMAND...: the text must not be in the output.
absent() {
    local name=$1 text=$2
    shift 2
    if "$@" 2>&1 | grep -qaF -- "$text"; then
        failed=$((failed + 1))
        printf 'FAILED %s\n' "$name"
    else
        passed=$((passed + 1))
    fi
}
shape='pawl_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}'

check OPS_10_create_warns 0 "only time the key is shown" "$pawl" key create --role admin --org $org
key=$("$pawl" key create --role worker --org $org --project $one --project $two --name w-1 \
    2>/dev/null)
check OPS_10_create_prints_the_key_and_nothing_else 0 "^$shape\$" echo "$key"
id=${key#pawl_live_} id=${id%%_*}
secret=${key#pawl_live_"$id"_} secret=${secret%_*}
check OPS_18_projects_may_be_repeated 0 "\"projects\":\\[\"$one\",\"$two\"\\]" \
    "$pawl" key list --org $org --json
check OPS_10_create_says_it_in_json 0 "\"key_id\":.*\"key\":\"$shape\"" \
    "$pawl" key create --role viewer --json --expires 90d
absent OPS_10_a_list_never_shows_a_secret "$secret" "$pawl" key list --org $org --json
absent OPS_10_the_store_never_has_a_secret "$secret" \
    grep -a "" pawl.db pawl.db-wal
check OPS_10_a_list_is_of_one_org 0 'viewer' "$pawl" key list
absent OPS_10_a_list_is_of_one_org_only "$id" "$pawl" key list
check OPS_10_a_role_is_needed 2 'needs --role' "$pawl" key create
check OPS_10_a_role_is_one_of_the_table 2 'producer, worker' "$pawl" key create --role king
check OPS_10_a_project_is_a_uuid 2 'project must be a UUID' \
    "$pawl" key create --role worker --project $one --project x
check OPS_10_a_project_is_named_once 1 'twice' \
    "$pawl" key create --role worker --project $one --project $one
check OPS_10_what_is_over_cannot_be_made 1 'expires_at: lies in the past' \
    "$pawl" key create --role worker --expires 2020-01-01T00:00:00Z
check OPS_10_other_commands_take_one_project 2 'given twice' \
    "$pawl" enqueue work --project $one --project $two
check OPS_10_revoke 0 "key $id of org $org is revoked" "$pawl" key revoke "$id"
check OPS_10_revoke_again 0 "key $id of org $org is revoked" "$pawl" key revoke "$id"
check OPS_10_a_list_says_who_is_revoked 0 "$id +worker +revoked" "$pawl" key list --org $org
check OPS_10_revoke_of_nothing 3 'there is no key 0123456789' "$pawl" key revoke 0123456789
absent OPS_10_revoke_does_not_quote_a_key "$secret" "$pawl" key revoke "$key"
check OPS_10_revoke_by_another_org 3 'there is no key' \
    "$pawl" key revoke "$id" --org 00000000-0000-7000-8000-0000000000cc
check OPS_10_orgs 0 "$org +1 " "$pawl" org list
check OPS_10_disable 0 'its keys are refused' "$pawl" org disable $org
check OPS_10_orgs_in_json 0 "\"disabled_at\":\"20" "$pawl" org list --json
check OPS_10_disable_nobody 3 'there is no org' \
    "$pawl" org disable 00000000-0000-7000-8000-0000000000cc
check OPS_10_an_unknown_verb 2 'key does not know' "$pawl" key make
check OPS_19_the_store_is_sound 0 '0 violations' "$pawl" verify

echo "pawl-cases: $passed passed, $failed failed"
((failed == 0))
