// Keys: their text, their roles, their rows.
#include "fixture.h"

#include <string.h>

#include "engine/api_key.h"
#include "model/rate.h"

static const struct str org_b = { "00000000-0000-7000-8000-0000000000bb", 36 };
static const struct str projects[] = { { "00000000-0000-7000-8000-0000000000a1", 36 },
                                       { "00000000-0000-7000-8000-0000000000a2", 36 },
                                       { "00000000-0000-7000-8000-0000000000a3", 36 } };

// ----- the text of a key

static struct str key_of_dice(uint8_t first, char text[KEY_TEXT_BYTES_MAX + 1])
{
    uint8_t dice[KEY_DICE_BYTES];
    for (size_t i = 0; i < sizeof dice; i++)
        dice[i] = (uint8_t)(first + i * 37);
    return api_key_make(S("live"), dice, text);
}

TEST(OPS_10_a_key_has_an_environment_an_id_a_secret_and_a_check)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct api_key key;
    struct str made = key_of_dice(1, text);
    EXPECT_INT(made.n, 5 + 4 + 1 + 10 + 1 + 43 + 1 + 6);
    EXPECT(strlen(text) == made.n);
    EXPECT(api_key_parse(made, &key));
    EXPECT_STR(key.env, "live");
    EXPECT_INT(key.id.n, 10);
    EXPECT_INT(key.secret.n, 43);
}

// zlib.crc32(b"pawl_test_0000000000_" + b"0" * 43) and its digits, by another program.
TEST(OPS_10_the_check_is_crc32_in_62_digits)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    uint8_t dice[KEY_DICE_BYTES] = {0};
    EXPECT_STR(api_key_make(S("test"), dice, text),
               "pawl_test_0000000000_0000000000000000000000000000000000000000000_2u9zf8");
}

TEST(OPS_10_all_256_bits_of_the_secret_are_in_the_key)
{
    char ones[KEY_TEXT_BYTES_MAX + 1], less[KEY_TEXT_BYTES_MAX + 1];
    uint8_t dice[KEY_DICE_BYTES];
    memset(dice, 0xff, sizeof dice);
    struct str made = api_key_make(S("live"), dice, ones);
    for (size_t i = 8; i < sizeof dice; i++)
        for (int bit = 0; bit < 8; bit++) {
            dice[i] ^= (uint8_t)(1 << bit);
            EXPECT(!str_eq(made, api_key_make(S("live"), dice, less)));
            dice[i] ^= (uint8_t)(1 << bit);
        }
}

TEST(OPS_10_every_single_damaged_character_is_noticed)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct api_key key;
    struct str made = key_of_dice(9, text);
    for (size_t i = 0; i < made.n; i++) {
        char right = text[i];
        for (int wrong = 0; wrong < 256; wrong++) {
            text[i] = (char)wrong;
            EXPECT(api_key_parse(made, &key) == ((char)wrong == right));
        }
        text[i] = right;
    }
}

TEST(OPS_10_what_is_shorter_or_longer_is_no_key)
{
    char text[KEY_TEXT_BYTES_MAX + 2];
    struct api_key key;
    struct str made = key_of_dice(3, text);
    for (size_t n = 0; n < made.n; n++) {
        EXPECT(!api_key_parse((struct str){ text, n }, &key));
        EXPECT(!api_key_parse((struct str){ text + made.n - n, n }, &key));
    }
    text[made.n] = '0';
    EXPECT(!api_key_parse((struct str){ text, made.n + 1 }, &key));
    EXPECT(!api_key_env_valid(S("")));
    EXPECT(!api_key_env_valid(S("Live")));
    EXPECT(!api_key_env_valid(S("abcdefghijklmnopq")));
}

// ----- roles

TEST(OPS_10_the_roles_are_those_of_the_interface)
{
    // As the interface has them; `payload` is what a viewer sees only if configured. Who enqueues
    // an import, or fixes one, brings its input: so both may store artifacts.
    static const char *const table[ROLES] = {
        [ROLE_PRODUCER] = "enqueue read payload cancel retry artifact",
        [ROLE_WORKER] = "lease artifact read payload",
        [ROLE_VIEWER] = "read",
        [ROLE_OPERATOR] = "read cancel retry change deadletter queues schedules artifact",
        [ROLE_ADMIN] = ("enqueue read payload cancel retry change lease artifact queues "
                        "deadletter schedules keys"),
    };
    static const char *const words[] = { "enqueue", "read", "payload", "cancel", "retry", "change",
                                         "lease", "artifact", "queues", "deadletter", "schedules",
                                         "keys" };
    EXPECT_INT(MAY_EVERYTHING, (1 << countof(words)) - 1);
    for (unsigned role = 0; role < ROLES; role++)
        for (size_t i = 0; i < countof(words); i++) {
            bool may = role_may((enum role)role, 1u << i);
            if (may != (strstr(table[role], words[i]) != NULL)) {
                print_error("%s: %s\n", role_name((enum role)role), words[i]);
                EXPECT(false);
            }
        }
}

TEST(OPS_10_what_no_role_was_given_is_refused)
{
    for (unsigned role = 0; role < ROLES; role++) {
        enum role parsed;
        EXPECT(!role_may((enum role)role, 0));
        EXPECT(!role_may((enum role)role, 1u << 20));
        EXPECT(!role_may((enum role)role, MAY_READ | 1u << 20));
        EXPECT(role_parse(str_of(role_name((enum role)role)), &parsed) && parsed == role);
    }
    EXPECT(!role_may(ROLE_WORKER, MAY_READ | MAY_CANCEL));
    EXPECT(!role_sees_payload(ROLE_VIEWER, false) && role_sees_payload(ROLE_VIEWER, true));
    EXPECT(!role_sees_payload(ROLE_OPERATOR, false) && role_sees_payload(ROLE_OPERATOR, true));
    EXPECT(role_sees_payload(ROLE_WORKER, false) && role_sees_payload(ROLE_PRODUCER, false));
}

// ----- rates

TEST(OPS_10_a_rate_lets_a_burst_through_and_then_so_many_a_second)
{
    struct bucket bucket = {0};
    int64_t wait = 0, now = SECONDS(5), taken = 0;
    while (bucket_take(&bucket, 10, now, &wait))
        taken++;
    EXPECT_INT(taken, 20);
    EXPECT_INT(wait, 100000);
    EXPECT(!bucket_take(&bucket, 10, now + wait - 1, &wait));
    EXPECT(bucket_take(&bucket, 10, now + 100000, &wait));
    for (taken = 0; taken < 1000; taken++)  // a steady stream of ten a second is never refused
        EXPECT(bucket_take(&bucket, 10, now + 100000 * (taken + 2), &wait));
    EXPECT(!bucket_take(&bucket, 10, now + INT64_C(100000) * 1001, &wait));
}

TEST(OPS_10_many_are_taken_at_once_and_what_was_not_used_is_given_back)
{
    struct bucket bucket = {0}, unlimited = {0};
    int64_t wait = 0, now = SECONDS(5);
    EXPECT(bucket_take_many(&bucket, 10, 30, now, &wait));
    EXPECT(!bucket_take_many(&bucket, 10, 1, now, &wait));
    EXPECT_INT(wait, SECONDS(2) + 1);
    bucket_give_back(&bucket, 10, 25);
    EXPECT(bucket_take_many(&bucket, 10, 1, now, &wait) && wait == 0);
    for (int i = 0; i < 100; i++)
        EXPECT(bucket_take_many(&unlimited, 0, 1000, now, &wait) && wait == 0);
    bucket_give_back(&unlimited, 0, 1000);
    EXPECT_INT(unlimited.full_at_ns, 0);
}

TEST(OPS_10_no_rate_is_no_limit_and_the_largest_does_not_overflow)
{
    struct bucket bucket = {0};
    int64_t wait = 0, now = DAYS(36500);
    for (int i = 0; i < 100; i++)
        EXPECT(bucket_take(&bucket, 0, now, &wait));
    for (int i = 0; i < RATE_BURST * RATE_MAX; i++)
        EXPECT(bucket_take(&bucket, RATE_MAX, now, &wait));
    EXPECT(!bucket_take(&bucket, RATE_MAX, now, &wait));
    EXPECT_INT(wait, 1);
}

// ----- rows

static struct key_request request_for(struct box *box, enum role role)
{
    return (struct key_request){
        .world = &box->world.world,
        .env = S("live"),
        .org_id = box->caller.org_id,
        .role = role,
    };
}

static struct key must_key(struct box *box, const struct key_request *request, char *text)
{
    struct key key;
    OK(key_create(tx, request, &key, text, err));
    return key;
}

TEST_EACH_DB(OPS_10_only_a_hash_of_the_secret_is_stored)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct api_key parts;
    struct key_request request = request_for(box, ROLE_WORKER);
    struct key key = must_key(box, &request, text), found;
    bool is_there = false;
    EXPECT(api_key_parse(str_of(text), &parts));
    EXPECT(str_eq(parts.id, key.key_id));
    OK(key_find(tx, key.key_id, &found, &is_there, err));
    EXPECT(is_there && found.role == ROLE_WORKER && found.hash.n == 64);
    static const char all[] = "hash || key_id || coalesce(name, '') || coalesce(projects, '')";
    struct str sql = str_format(test_arena(),
                                "SELECT count(*) FROM api_keys WHERE %s LIKE '%%%.*s%%'", all,
                                STR(parts.secret));
    EXPECT_INT(box_number(box, sql.s), 0);
}

TEST_EACH_DB(OPS_19_an_org_that_comes_with_its_first_job_leaves_an_event)
{
    must_enqueue(box, "report");
    must_enqueue(box, "report");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM audit_events a JOIN audit_event_names n ON"
                               " n.event = a.event WHERE n.name = 'org.created' AND a.org = 1"
                               " AND a.actor_id = 'tester'"),
               1);
}

TEST_EACH_DB(OPS_19_keys_and_orgs_leave_audit_events)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct event_list list;
    struct org org;
    box->caller.org_id = org_b;
    struct key_request request = request_for(box, ROLE_ADMIN);
    struct key key = must_key(box, &request, text);
    OK_FROM(key, key_revoke(tx, key.key_id, &key, err));
    OK_FROM(key, key_revoke(tx, key.key_id, &key, err));  // which changes nothing any more
    OK(org_disable(tx, org_b, &org, err));
    OK(org_disable(tx, org_b, &org, err));
    OK(events_of_org(tx, &(struct event_filter){0}, &list, err));
    static const enum event expected[] = { EVENT_ORG_DISABLED, EVENT_KEY_REVOKED,
                                           EVENT_KEY_CREATED, EVENT_ORG_CREATED };
    EXPECT_INT(list.count, countof(expected));
    for (size_t i = 0; i < list.count; i++) {
        EXPECT_INT(list.events[i].event, expected[i]);
        EXPECT_STR(list.events[i].actor_id, "tester");
        EXPECT_STR(list.events[i].request_id, "request-1");
        EXPECT(str_eq(list.events[i].org_id, org_b));
        EXPECT(list.events[i].job.high == 0);
    }
    EXPECT(str_eq(list.events[1].subject, str_format(test_arena(), "key:%.*s", STR(key.key_id))));
    EXPECT_INT(list.next, 0);
}

TEST_EACH_DB(OPS_10_a_key_that_breaks_the_rules_is_refused_with_every_problem)
{
    struct key key;
    char text[KEY_TEXT_BYTES_MAX + 1];
    const struct str twice[] = { projects[0], projects[0], S("x") };
    struct key_request request = request_for(box, (enum role)77);
    request.org_id = S("nobody");
    request.env = S("LIVE");
    request.name = S("a\nb");
    request.projects = twice;
    request.project_count = countof(twice);
    request.expires_at = 1;
    REFUSED(PAWL_INVALID, key_create(tx, &request, &key, text, err));
    struct pawl_error why = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT(!key_create(&tx, &request, &key, text, &why));
    static const char *const fields[] = { "env:", "org_id:", "role:", "name:", "expires_at:",
                                          "projects: names", "projects: must be UUIDs" };
    for (size_t i = 0; i < countof(fields); i++)
        EXPECT(strstr(why.message, fields[i]) != NULL);
    tx_end(&tx);
}

static const char *problem_of_key(struct box *box, const struct key_request *request)
{
    struct problems problems = { .arena = test_arena() };
    struct pawl_error err = {0};
    key_request_check(request, &box->caller, box->world.wall, &problems);
    EXPECT(!problems_none(&problems, &err));
    return str_cstr(test_arena(), str_of(err.message));
}

TEST_EACH_DB(OPS_10_the_name_of_a_key_has_an_end_and_who_is_of_no_org_makes_keys_of_any)
{
    static char long_name[300];
    struct key_request fine = request_for(box, ROLE_ADMIN), request = fine;
    memset(long_name, 'n', sizeof long_name - 1);
    request.name = str_of(long_name);
    EXPECT(strstr(problem_of_key(box, &request), "name") != NULL);
    box->caller.org_id = S("");
    struct problems problems = { .arena = test_arena() };
    key_request_check(&fine, &box->caller, box->world.wall, &problems);
    key_request_check(&fine, NULL, box->world.wall, &problems);
    EXPECT_INT(problems.count, 0);
}

TEST_EACH_DB(OPS_10_a_key_whose_projects_are_none_is_damaged)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key_request request = request_for(box, ROLE_ADMIN);
    struct key key = must_key(box, &request, text), found;
    struct buf many = buf_new(test_arena(), 1 << 16);
    bool any = false, is_there = false;
    OK(key_any(tx, &any, err));
    EXPECT(any);
    buf_addf(&many, "UPDATE api_keys SET projects = '");
    for (int i = 0; i <= KEY_PROJECTS_MAX; i++)
        buf_addf(&many, "00000000-0000-7000-8000-0000000000a1 ");
    buf_addf(&many, "'");
    box->damaged = true;
    box_sql(box, str_cstr(test_arena(), buf_str(&many)));
    REFUSED(PAWL_DAMAGED, key_find(tx, key.key_id, &found, &is_there, err));
    box_sql(box, "UPDATE api_keys SET projects = '00000000-0000-7000-8000-0000000000a1 two'");
    REFUSED(PAWL_DAMAGED, key_find(tx, key.key_id, &found, &is_there, err));
    box_sql(box, "UPDATE api_keys SET projects = 'one 00000000-0000-7000-8000-0000000000a1'");
    REFUSED(PAWL_DAMAGED, key_find(tx, key.key_id, &found, &is_there, err));
}

TEST_EACH_DB(OPS_18_a_limited_admin_makes_and_sees_no_key_that_may_more_than_itself)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key key;
    struct key_list list;
    struct key_request all = request_for(box, ROLE_ADMIN), some = all;
    some.projects = projects + 1;
    some.project_count = 2;
    struct key of_all = must_key(box, &all, text), of_some = must_key(box, &some, text);
    box->caller.projects = projects;
    box->caller.project_count = 2;
    REFUSED(PAWL_INVALID, key_create(tx, &all, &key, text, err));
    REFUSED(PAWL_INVALID, key_create(tx, &some, &key, text, err));
    REFUSED(PAWL_NOT_FOUND, key_revoke(tx, of_all.key_id, &key, err));
    REFUSED(PAWL_NOT_FOUND, key_revoke(tx, of_some.key_id, &key, err));
    OK(key_list(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 0);
    some.project_count = 1;  // projects[1], which it has
    struct key own = must_key(box, &some, text);
    OK(key_list(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT(str_eq(list.keys[0].key_id, own.key_id) && list.keys[0].hash.n == 0);
    OK(key_revoke(tx, own.key_id, &key, err));
    OK((tx->caller = NULL, key_revoke(tx, of_all.key_id, &key, err)));  // Pawl itself may
}

TEST_EACH_DB(OPS_10_keys_of_another_org_are_not_found_and_not_listed)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key key;
    struct key_list list;
    struct key_request request = request_for(box, ROLE_ADMIN);
    struct key ours = must_key(box, &request, text);
    box->caller.org_id = org_b;
    REFUSED(PAWL_INVALID, key_create(tx, &request, &key, text, err));
    REFUSED(PAWL_NOT_FOUND, key_revoke(tx, ours.key_id, &key, err));
    OK(key_list(tx, 0, 10, &list, err));
    EXPECT_INT(list.count, 0);
    box->caller.org_id = S("");  // of every org
    OK(key_revoke(tx, ours.key_id, &key, err));
}

TEST_EACH_DB(OPS_10_a_long_list_of_keys_comes_in_pages)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key_request request = request_for(box, ROLE_VIEWER);
    struct key_list list = {0};
    size_t seen = 0;
    for (int i = 0; i < 7; i++)
        must_key(box, &request, text);
    do {
        OK_FROM(list, key_list(tx, list.next, 3, &list, err));
        EXPECT(list.count <= 3);
        seen += list.count;
    } while (list.next);
    EXPECT_INT(seen, 7);
    OK(key_list(tx, 0, INT64_MAX, &list, err));  // no more than fit a page
    EXPECT_INT(list.count, 7);
}

TEST_EACH_DB(OPS_10_the_use_of_a_key_is_noted_once_a_minute)
{
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key_request request = request_for(box, ROLE_VIEWER);
    struct key key = must_key(box, &request, text);
    bool found;
    OK(key_used(tx, key.key_id, err));
    OK_FROM(key, key_find(tx, key.key_id, &key, &found, err));
    pawl_time first = key.last_used_at;
    EXPECT(first > 0);
    pass(box, SECONDS(59));
    OK(key_used(tx, key.key_id, err));
    OK_FROM(key, key_find(tx, key.key_id, &key, &found, err));
    EXPECT_INT(key.last_used_at, first);
    pass(box, SECONDS(2));
    OK(key_used(tx, key.key_id, err));
    OK_FROM(key, key_find(tx, key.key_id, &key, &found, err));
    EXPECT(key.last_used_at > first);
}
