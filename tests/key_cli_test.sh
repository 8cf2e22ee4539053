#!/usr/bin/env bash
# pawl key and pawl org: what people see, what scripts get, and what nobody ever gets to see again.
pawl=${PAWL:?the program}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
org=00000000-0000-7000-8000-0000000000bb
one=00000000-0000-7000-8000-0000000000a1 two=00000000-0000-7000-8000-0000000000a2

# absent NAME TEXT COMMAND...: the text must not be in the output.
absent() {
    run "${@:3}"
    if grep -qaF -- "$2" .out .err; then miss "$1"; else pass; fi
}
shape='pawl_live_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}'

expect OPS_10_a_first_key_that_is_no_admins_closes_the_door_and_says_so 0 'none of role admin' \
    key create --role viewer --org $org --store sqlite:first.db
check OPS_10_and_its_key_is_shown grep -qE "^$shape\$" .out
expect OPS_10_create_warns 0 "only time the key is shown" key create --role admin --org $org
key=$("$pawl" key create --role worker --org $org --project $one --project $two --name w-1 \
    2>/dev/null)
check OPS_10_create_prints_the_key_and_nothing_else grep -qE "^$shape\$" <<<"$key"
id=${key#pawl_live_} id=${id%%_*}
secret=${key#pawl_live_"$id"_} secret=${secret%_*}
expect OPS_18_projects_may_be_repeated 0 "\"projects\":\\[\"$one\",\"$two\"\\]" \
    key list --org $org --json
expect OPS_10_create_says_it_in_json 0 "\"key_id\":.*\"key\":\"$shape\"" \
    key create --role viewer --json --expires 90d
absent OPS_10_a_list_never_shows_a_secret "$secret" "$pawl" key list --org $org --json
absent OPS_10_the_store_never_has_a_secret "$secret" \
    grep -a "" pawl.db pawl.db-wal
expect OPS_10_a_list_is_of_one_org 0 'viewer' key list
absent OPS_10_a_list_is_of_one_org_only "$id" "$pawl" key list
echo 'auth: {environment: test}' >test.yaml
expect OPS_10_a_key_of_the_store_has_the_environment_of_the_configuration 0 '^pawl_test_' \
    key create --role viewer --config test.yaml
expect OPS_10_a_server_has_a_configuration_of_its_own 2 '\-\-config is for a store' \
    key create --role viewer --config test.yaml --server http://127.0.0.1:1
expect OPS_10_a_role_is_needed 2 'needs --role' key create
expect OPS_10_a_role_is_one_of_the_table 2 'producer, worker' key create --role king
expect OPS_10_a_project_is_a_uuid 2 'project must be a UUID' \
    key create --role worker --project $one --project x
expect OPS_10_a_project_is_named_once 1 'twice' \
    key create --role worker --project $one --project $one
expect OPS_10_what_is_over_cannot_be_made 1 '\-\-expires: 2020-01-01T00:00:00Z lies in the past' \
    key create --role worker --expires 2020-01-01T00:00:00Z
expect OPS_10_what_is_too_far_cannot_be_made 1 '\-\-expires: .* more than 10 years ahead' \
    key create --role worker --expires 2999-01-01T00:00:00Z
expect OPS_10_other_commands_take_one_project 2 'given twice' \
    enqueue work --project $one --project $two
expect OPS_10_revoke 0 "key $id of org $org is revoked" key revoke "$id"
expect OPS_10_revoke_again 0 "key $id of org $org is revoked" key revoke "$id"
expect OPS_10_a_list_says_who_is_revoked 0 "$id +worker +revoked" key list --org $org
expect OPS_10_revoke_of_nothing 3 'there is no key 0123456789' key revoke 0123456789
absent OPS_10_revoke_does_not_quote_a_key "$secret" "$pawl" key revoke "$key"
expect OPS_10_revoke_by_another_org 3 'there is no key' \
    key revoke "$id" --org 00000000-0000-7000-8000-0000000000cc
expect OPS_10_orgs 0 "$org +1 " org list
expect OPS_10_disable 0 'its keys are refused' org disable $org
expect OPS_10_orgs_in_json 0 "\"disabled_at\":\"20" org list --json
expect OPS_10_disable_nobody 3 'there is no org' \
    org disable 00000000-0000-7000-8000-0000000000cc
expect OPS_10_an_unknown_verb 2 'key does not know' key make
expect OPS_19_the_store_is_sound 0 '0 violations' verify

conclude
