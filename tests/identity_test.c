// Who is asking: what the server makes of an Authorization header, from memory and from the store.
#include "fixture.h"

#include <string.h>

#include "server/identity.h"

static const struct str org_b = { "00000000-0000-7000-8000-0000000000bb", 36 };
static const struct str projects[] = { { "00000000-0000-7000-8000-0000000000a1", 36 },
                                       { "00000000-0000-7000-8000-0000000000a2", 36 } };

// Dice that fall as they are told, so that a test knows the secret it has to get wrong.
static uint8_t told[KEY_DICE_BYTES];

static void roll_told(void *self, void *bytes, size_t n)
{
    (void)self;
    EXPECT_INT(n, sizeof told);
    memcpy(bytes, told, n);
}

static const struct world told_world = { .random = roll_told };

// The server's door, and what came of the last knock.
struct door {
    struct box *box;
    struct identities *identities;
    struct identity who;
    struct pawl_error err;
    bool asked;  // the store was
    char text[KEY_TEXT_BYTES_MAX + 1];
    struct key key;
};

static void door_open(struct door *door, struct box *box, int64_t rate)
{
    struct pawl_error err = {0};
    *door = (struct door){ .box = box };
    struct identity_options options = { .world = &box->world.world, .rate = rate };
    MUST(identities_open(&door->identities, &options, &err));
}

static struct key_request request_for(struct box *box)
{
    return (struct key_request){
        .world = &told_world,
        .env = S("live"),
        .org_id = box->caller.org_id,
        .role = ROLE_WORKER,
    };
}

// Makes the key of these dice. Whoever makes one tells the door.
static void must_key(struct door *door, const struct key_request *request, uint8_t die)
{
    struct box *box = door->box;
    told[0] = die;
    OK(key_create(tx, request, &door->key, door->text, err));
    identities_forget(door->identities);
}

static enum identity_answer look(struct door *door, struct str header)
{
    door->err = (struct pawl_error){0};
    return identity_look(door->identities, test_arena(), header, &door->who, &door->err);
}

static enum pawl_code find(struct door *door, struct str header)
{
    struct tx tx = {0};
    box_begin(door->box, &tx);
    bool found = identity_find(door->identities, &tx, header, &door->who, &door->err);
    EXPECT(found == (door->err.code == PAWL_OK));
    tx_end(&tx);
    return door->err.code;
}

static enum pawl_code knock(struct door *door, struct str header)
{
    enum identity_answer answer = look(door, header);
    door->asked = answer == IDENTITY_UNKNOWN;
    EXPECT(door->asked || (answer == IDENTITY_FOUND) == (door->err.code == PAWL_OK));
    return door->asked ? find(door, header) : door->err.code;
}

static struct str bearer(const char *text)
{
    return str_format(test_arena(), "Bearer %s", text);
}

TEST_EACH_DB(OPS_10_a_key_says_who_is_asking)
{
    struct door door;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    request.projects = projects;
    request.project_count = countof(projects);
    must_key(&door, &request, 1);
    for (int again = 0; again < 2; again++) {
        EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
        EXPECT(door.asked == (again == 0));
        EXPECT(door.who.note_use == (again == 0));
        struct caller caller = identity_caller(&door.who, S("r"), S("c"));
        EXPECT(!door.who.open && door.who.role == ROLE_WORKER);
        EXPECT(str_eq(caller.org_id, box->caller.org_id));
        EXPECT(caller.actor_type == ACTOR_API_KEY && str_eq(caller.actor_id, door.key.key_id));
        EXPECT(caller.project_count == 2 && str_eq(caller.projects[1], projects[1]));
    }
    EXPECT_INT(knock(&door, str_format(test_arena(), "bEaReR %s", door.text)), PAWL_OK);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_what_holds_no_key_is_refused_and_never_quoted)
{
    struct door door;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    const char *text = door.text;
    int n = (int)strlen(text);
    const struct str bad[] = {
        S(""),
        S("Bearer"),
        S("Bearer "),
        S("Basic dXNlcjpwYXNz"),
        str_of(text),
        str_format(test_arena(), "Bearer  %s", text),
        str_format(test_arena(), "Bearer %s ", text),
        str_format(test_arena(), "Bearer %.*s", n - 1, text),
        str_format(test_arena(), "Bearer %s0", text),
        str_format(test_arena(), "Bearer %s, Bearer %s", text, text),
        str_format(test_arena(), "Bearer %s %s", text, text),
        str_format(test_arena(), "Bearer %.*s%c", n - 1, text, text[n - 1] == '0' ? '1' : '0'),
    };
    for (size_t i = 0; i < countof(bad); i++) {
        EXPECT_INT(knock(&door, bad[i]), PAWL_UNAUTHORIZED);
        EXPECT(door.asked == (i == 0));  // whether the store has keys; it has, and that is known
        EXPECT(!strstr(door.err.message, "pawl_") && !strstr(door.err.message, "dXNl"));
    }
    EXPECT_INT(identities_figures(door.identities).refused, countof(bad));
    EXPECT_INT(identities_figures(door.identities).found, 0);
    identities_close(door.identities);
}

// Both are looked up in the store, also when the id is in memory, and answered alike.
TEST_EACH_DB(OPS_10_an_unknown_id_and_a_wrong_secret_cannot_be_told_apart)
{
    struct door door;
    char unknown[KEY_TEXT_BYTES_MAX + 1], wrong[KEY_TEXT_BYTES_MAX + 1];
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
    told[KEY_DICE_BYTES - 1] ^= 1;
    api_key_make(S("live"), told, wrong);
    told[KEY_DICE_BYTES - 1] ^= 1;
    told[0] = 9;
    api_key_make(S("live"), told, unknown);
    EXPECT(strncmp(wrong, door.text, 20) == 0 && strncmp(unknown, door.text, 20) != 0);
    EXPECT_INT(knock(&door, bearer(unknown)), PAWL_UNAUTHORIZED);
    EXPECT(door.asked);
    struct str message = str_dup(test_arena(), str_of(door.err.message));
    EXPECT_INT(knock(&door, bearer(wrong)), PAWL_UNAUTHORIZED);
    EXPECT(door.asked && str_eq(message, str_of(door.err.message)));
    EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
    EXPECT(!door.asked);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_a_revoked_key_is_refused_at_once_here_and_in_ten_seconds_elsewhere)
{
    struct door here, elsewhere;
    door_open(&here, box, 0);
    door_open(&elsewhere, box, 0);
    struct key_request request = request_for(box);
    must_key(&here, &request, 1);
    struct str header = bearer(here.text);
    EXPECT_INT(knock(&here, header), PAWL_OK);
    EXPECT_INT(knock(&elsewhere, header), PAWL_OK);
    OK_FROM(here.key, key_revoke(tx, here.key.key_id, &here.key, err));
    identities_forget(here.identities);
    EXPECT_INT(knock(&here, header), PAWL_UNAUTHORIZED);
    pass(box, IDENTITY_US_MAX);
    EXPECT_INT(knock(&elsewhere, header), PAWL_UNAUTHORIZED);
    identities_close(here.identities);
    identities_close(elsewhere.identities);
}

TEST_EACH_DB(OPS_10_a_key_looked_up_before_it_was_revoked_is_not_remembered)
{
    struct door door;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    struct str header = bearer(door.text);
    struct db *reader = box_second(box, true);
    struct tx old = {0};
    bool any = false;
    EXPECT_INT(look(&door, header), IDENTITY_UNKNOWN);
    expect_done(tx_begin(reader, TX_READ, test_arena(), &old, &door.err), &door.err, PLACE("old"));
    EXPECT(key_any(&old, &any, &door.err) && any);  // its snapshot is from here
    OK_FROM(door.key, key_revoke(tx, door.key.key_id, &door.key, err));
    identities_forget(door.identities);
    EXPECT(identity_find(door.identities, &old, header, &door.who, &door.err));
    tx_end(&old);
    EXPECT_INT(knock(&door, header), PAWL_UNAUTHORIZED);
    db_close(reader);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_an_expired_key_is_refused_also_from_memory)
{
    struct door door;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    request.expires_at = box->world.wall + SECONDS(5);
    must_key(&door, &request, 1);
    EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
    pass(box, SECONDS(4));
    EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
    EXPECT(!door.asked);
    pass(box, SECONDS(1));
    EXPECT_INT(knock(&door, bearer(door.text)), PAWL_UNAUTHORIZED);
    EXPECT(strstr(door.err.message, "expired") != NULL);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_every_key_of_a_disabled_org_is_refused)
{
    struct door door;
    struct org org;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    struct str ours = bearer(door.text);
    box->caller.org_id = request.org_id = org_b;
    must_key(&door, &request, 2);
    struct str theirs = bearer(door.text);
    OK(org_disable(tx, org_b, &org, err));
    identities_forget(door.identities);
    EXPECT_INT(knock(&door, theirs), PAWL_UNAUTHORIZED);
    EXPECT_INT(knock(&door, ours), PAWL_OK);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_without_keys_everybody_is_admin_until_the_first_one)
{
    struct door here, elsewhere;
    door_open(&here, box, 0);
    door_open(&elsewhere, box, 0);
    for (int again = 0; again < 2; again++) {
        EXPECT_INT(knock(&here, S("")), PAWL_OK);
        EXPECT(here.asked == (again == 0));
        EXPECT(here.who.open && here.who.role == ROLE_ADMIN && here.who.key_id.n == 0);
        EXPECT_STR(here.who.org_id, "00000000-0000-7000-8000-000000000000");
    }
    EXPECT_INT(knock(&elsewhere, S("Bearer whatever")), PAWL_OK);
    struct key_request request = request_for(box);
    must_key(&here, &request, 1);
    EXPECT_INT(knock(&here, S("")), PAWL_UNAUTHORIZED);
    pass(box, IDENTITY_OPEN_US_MAX);
    EXPECT_INT(knock(&elsewhere, S("")), PAWL_UNAUTHORIZED);
    // The last key: it does not open the door.
    OK_FROM(here.key, key_revoke(tx, here.key.key_id, &here.key, err));
    identities_forget(here.identities);
    EXPECT_INT(knock(&here, S("")), PAWL_UNAUTHORIZED);
    pass(box, MINUTES(1));
    EXPECT_INT(knock(&elsewhere, S("")), PAWL_UNAUTHORIZED);
    identities_close(here.identities);
    identities_close(elsewhere.identities);
}

TEST_EACH_DB(OPS_10_requests_are_limited_by_key)
{
    struct door door;
    door_open(&door, box, 5);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    struct str one = bearer(door.text);
    must_key(&door, &request, 2);
    struct str other = bearer(door.text);
    for (int i = 0; i < 10; i++)
        EXPECT_INT(knock(&door, one), PAWL_OK);
    EXPECT_INT(knock(&door, one), PAWL_TOO_MANY);
    EXPECT_INT(door.who.retry_after_us, 200000);
    identities_forget(door.identities);  // does not fill the bucket
    EXPECT_INT(knock(&door, one), PAWL_TOO_MANY);
    EXPECT_INT(knock(&door, other), PAWL_OK);
    pass(box, 200000);
    EXPECT_INT(knock(&door, one), PAWL_OK);
    identities_rate(door.identities, 0);
    for (int i = 0; i < 100; i++)
        EXPECT_INT(knock(&door, one), PAWL_OK);
    EXPECT_INT(identities_figures(door.identities).limited, 2);
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_more_keys_than_fit_are_all_known)
{
    enum { KEYS = 1300 };
    struct door door;
    static char texts[KEYS][KEY_TEXT_BYTES_MAX + 1];
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    request.world = &box->world.world;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    for (int i = 0; i < KEYS; i++)
        MUST(key_create(&tx, &request, &door.key, texts[i], &err));
    box_commit(&tx);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < KEYS; i++) {
            struct api_key parts;
            EXPECT_INT(knock(&door, bearer(texts[i])), PAWL_OK);
            EXPECT(api_key_parse(str_of(texts[i]), &parts));
            EXPECT(str_eq(parts.id, door.who.key_id));
        }
    identities_close(door.identities);
}

TEST_EACH_DB(OPS_10_the_use_of_a_key_is_to_be_noted_once_a_minute)
{
    struct door door;
    int noted = 0;
    door_open(&door, box, 0);
    struct key_request request = request_for(box);
    must_key(&door, &request, 1);
    for (int i = 0; i < 180; i++, pass(box, SECONDS(1))) {
        EXPECT_INT(knock(&door, bearer(door.text)), PAWL_OK);
        noted += door.who.note_use;
    }
    EXPECT_INT(noted, 3);
    identities_close(door.identities);
}
