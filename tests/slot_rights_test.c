// Whose schedules are whose: orgs, projects, and callers that are of none.
#include "slots.h"

#define ORG_TWO S("11111111-1111-7111-8111-111111111111")

static const struct str projects[] = { { "aaaaaaaa-0000-7000-8000-000000000000", 36 },
                                       { "bbbbbbbb-0000-7000-8000-000000000000", 36 } };

static void limit_to(struct box *box, size_t count)
{
    box->caller.projects = projects;
    box->caller.project_count = count;
}

static size_t listed(struct box *box)
{
    struct schedule_list list;
    OK(schedules_list(tx, S(""), 10, &list, err));
    return list.count;
}

TEST_EACH_DB(OPS_18_schedules_of_other_projects_are_not_seen_and_not_changed)
{
    struct schedule own = every_five_minutes(), other = own;
    struct schedule_view view;
    enum schedule_put what;
    own.project_id = projects[0];
    other.name = S("other");
    other.project_id = projects[1];
    put(box, &own);
    put(box, &other);
    EXPECT_INT(listed(box), 2);
    limit_to(box, 1);
    EXPECT_INT(listed(box), 1);
    OK(schedule_load(tx, own.name, &view, err));
    REFUSED(PAWL_NOT_FOUND, schedule_load(tx, other.name, &view, err));
    REFUSED(PAWL_INVALID, schedule_put(tx, &other, SCHEDULE_FROM_API, &what, err));
    other.project_id = projects[0];  // of its own project, by a name that another one has
    REFUSED(PAWL_CONFLICT, schedule_put(tx, &other, SCHEDULE_FROM_API, &what, err));
}

TEST_EACH_DB(SLOT_2_who_is_of_no_org_makes_no_schedule_and_names_the_only_one_of_its_name)
{
    struct schedule s = every_five_minutes();
    struct schedule_view view;
    enum schedule_put what;
    struct str own = box->caller.org_id;
    put(box, &s);
    box->caller.org_id = S("");
    REFUSED(PAWL_USAGE, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    OK(schedule_load(tx, s.name, &view, err));
    EXPECT(str_eq(view.org_id, own));
    box->caller.org_id = ORG_TWO;
    put(box, &s);
    box->caller.org_id = S("");
    REFUSED(PAWL_CONFLICT, schedule_load(tx, s.name, &view, err));
    REFUSED(PAWL_CONFLICT, schedule_pause(tx, s.name, err));
}

TEST_EACH_DB(SLOT_8_a_range_has_a_beginning_before_its_end_and_no_future)
{
    pawl_time now = world_wall(&box->world.world);
    const struct backfill bad[] = {
        { .from = 0, .to = now },
        { .from = now, .to = now - 1 },
        { .from = now, .to = now + MINUTES(1) },
    };
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    for (size_t i = 0; i < countof(bad); i++) {
        struct backfill range = bad[i];
        REFUSED(PAWL_INVALID, slot_backfill(tx, s.name, &range, err));
    }
    REFUSED(PAWL_INVALID, slot_trigger(tx, s.name, -SECONDS(1), &job, err));
}
