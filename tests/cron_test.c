// Cron expressions: what they mean, in words and in days, and what is refused.
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/calendar.h"
#include "model/cron.h"

static struct cron must_parse(const char *text)
{
    struct cron cron;
    struct pawl_error err = {0};
    MUST(cron_parse(str_of(text), &cron, &err));
    return cron;
}

static void expect_same(const char *a, const char *b)
{
    struct cron one = must_parse(a), other = must_parse(b);
    bool same = str_eq(cron_words(test_arena(), &one), cron_words(test_arena(), &other))
        && one.seconds == other.seconds && one.minutes == other.minutes
        && one.hours == other.hours && one.months == other.months && one.days == other.days
        && one.days_before_last == other.days_before_last && one.near_days == other.near_days
        && one.last_workday == other.last_workday && one.weekdays == other.weekdays
        && one.weekdays_last == other.weekdays_last
        && memcmp(one.weekdays_nth, other.weekdays_nth, sizeof(one.weekdays_nth)) == 0;
    expect(same, PLACE(str_format(test_arena(), "%s is the same as %s", a, b).s));
}

TEST(SLOT_cron_expressions_that_mean_the_same)
{
    static const char *const rows[][2] = {
        { "*/15 * * * *", "0,15,30,45 * * * *" },
        { "1-30/5 * * * *", "1,6,11,16,21,26 * * * *" },
        { "5/10 * * * *", "5-59/10 * * * *" },
        { "0 22-2 * * *", "0 22,23,0,1,2 * * *" },
        { "0 22-4/2 * * *", "0 22,0,2,4 * * *" },
        { "0 0 25-5 * *", "0 0 25-31,1-5 * *" },
        { "0 0 * nov-feb *", "0 0 * 11,12,1,2 *" },
        { "0 0 * * fri-mon", "0 0 * * 5,6,0,1" },
        { "0 0 * * 5-7", "0 0 * * fri,sat,sun" },
        { "0 0 * * 7", "0 0 * * 0" },
        { "0 0 * * 7-2", "0 0 * * sun-tue" },
        { "0 0 * * 0-7", "0 0 * * *" },
        { "0 0 * * 1-0", "0 0 * * *" },
        { "0 0 * * 7-7", "0 0 * * sun" },
        { "0 0 * * 2/2", "0 0 * * tue,thu,sat" },
        { "0 0 * JAN,Feb Mon", "0 0 * 1,2 1" },
        { "0 0 ? * ?", "0 0 * * *" },
        { "  0\t0  1 * *  ", "0 0 1 * *" },
        { "0 0 0 1 * *", "0 0 1 * *" },
        { "*/60 * * * *", "0 * * * *" },
        { "0 0 l * *", "0 0 L * *" },
        { "0 0 * * FRIl", "0 0 * * 5L" },
        { "0 0 * * 7#2", "0 0 * * sun#2" },
        { "@hourly", "0 * * * *" },
        { "@daily", "0 0 * * *" },
        { "@Midnight", "0 0 * * *" },
        { "@weekly", "0 0 * * 0" },
        { "@monthly", "0 0 1 * *" },
        { "@yearly", "0 0 1 1 *" },
        { "@ANNUALLY", "0 0 1 1 *" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        expect_same(rows[i][0], rows[i][1]);
}

// The days of a month, as text.
static struct str days(const char *text, int64_t year, int64_t month)
{
    struct cron cron = must_parse(text);
    struct buf all = buf_new(test_arena(), 200);
    uint32_t set = cron_days(&cron, year, month);
    for (int day = 0; day < 32; day++)
        if (set >> day & 1)
            buf_addf(&all, "%s%d", all.n ? " " : "", day);
    return buf_str(&all);
}

// November 2026 begins on a Sunday and has 30 days.
TEST(SLOT_cron_days_of_a_month)
{
    static const struct { const char *text; int year, month; const char *days; } rows[] = {
        { "0 0 1,15 * *", 2026, 11, "1 15" },
        { "0 0 31 * *", 2026, 11, "" },
        { "0 0 * * mon", 2026, 11, "2 9 16 23 30" },
        { "0 0 * * sun", 2026, 11, "1 8 15 22 29" },
        { "0 0 13 * fri", 2026, 11, "6 13 20 27" },
        { "0 0 1 * fri", 2026, 11, "1 6 13 20 27" },
        { "0 0 */2 * mon", 2026, 11, "9 23" },
        { "0 0 1-7 * */7", 2026, 11, "1" },
        { "0 0 1-31/10 * mon", 2026, 11, "1 2 9 11 16 21 23 30" },
        { "0 0 ? * mon", 2026, 11, "2 9 16 23 30" },
        { "0 0 L * *", 2026, 11, "30" },
        { "0 0 L * *", 2024, 2, "29" },
        { "0 0 L-3 * *", 2026, 2, "25" },
        { "0 0 L-30 * *", 2026, 11, "" },
        { "0 0 L-30 * *", 2026, 12, "1" },
        { "0 0 LW * *", 2026, 11, "30" },
        { "0 0 LW * *", 2026, 10, "30" },
        { "0 0 LW * *", 2026, 5, "29" },
        { "0 0 1W * *", 2026, 11, "2" },
        { "0 0 1W * *", 2026, 8, "3" },
        { "0 0 7W * *", 2026, 11, "6" },
        { "0 0 15W * *", 2026, 11, "16" },
        { "0 0 31W * *", 2026, 11, "" },
        { "0 0 31W * *", 2026, 5, "29" },
        { "0 0 1,L,15W * *", 2026, 11, "1 16 30" },
        { "0 0 * * 5L", 2026, 11, "27" },
        { "0 0 * * monL", 2026, 11, "30" },
        { "0 0 * * 0L", 2026, 2, "22" },
        { "0 0 * * mon#1", 2026, 11, "2" },
        { "0 0 * * mon#5", 2026, 11, "30" },
        { "0 0 * * tue#5", 2026, 11, "" },
        { "0 0 * * mon#2,friL,wed", 2026, 11, "4 9 11 18 25 27" },
        { "0 0 13 * fri#2", 2026, 11, "13" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        expect_str(days(rows[i].text, rows[i].year, rows[i].month), str_of(rows[i].days),
                   PLACE(rows[i].text));
}

TEST(SLOT_cron_in_words)
{
    static const char *const rows[][2] = {
        { "*/7 9-17 * * 1-5", "every 7 minutes from 9:00 to 17:59, Monday to Friday" },
        { "* * * * *", "every minute" },
        { "* * * * * *", "every second" },
        { "*/10 * * * * *", "every 10 seconds" },
        { "0 * * * *", "every hour" },
        { "5 * * * *", "every hour at minute 5" },
        { "0 */2 * * *", "every 2 hours" },
        { "5 */2 * * *", "every 2 hours at minute 5" },
        { "30 9-17 * * *", "every hour from 9:30 to 17:30" },
        { "0 9 * * *", "every day at 9:00" },
        { "0,30 9,17 * * mon", "at 9:00, 9:30, 17:00 and 17:30, Monday" },
        { "15 0 12 * * *", "every day at 12:00:15" },
        { "5,20 * * * *", "at minute 5 and 20" },
        { "5,20 8,12,16 * * *", "at minute 5 and 20 in hour 8, 12 and 16" },
        { "*/5 1-3,7,8 * * *", "every 5 minutes in hour 1 to 3, 7 and 8" },
        { "0-5 * * * *", "at minute 0 to 5" },
        { "*/20 0,30 * * * *", "every 20 seconds in minute 0 and 30" },
        { "0 0 1,15 * *", "at 0:00, day 1 and 15 of the month" },
        { "0 0 */2 * *", "at 0:00, every 2 days from day 1 of the month" },
        { "0 0 13 * fri", "at 0:00, day 13 of the month or Friday" },
        { "0 0 */2 * fri", "at 0:00, every 2 days from day 1 of the month if it is Friday" },
        { "0 0 1-31 * fri", "every day at 0:00" },
        { "0 0 L * *", "at 0:00, the last day of the month" },
        { "0 0 L-1,L-3 * *",
          "at 0:00, 1 day before the last day and 3 days before the last day of the month" },
        { "0 0 1,15W,LW * *", "at 0:00, day 1, the weekday nearest to day 15 and the last weekday "
                              "of the month" },
        { "0 0 * * mon#2,5L",
          "at 0:00, the second Monday of the month and the last Friday of the month" },
        { "0 0 1 jan,jul *", "at 0:00, day 1 of the month, in January and July" },
        { "0 0 * 1-3,12 *", "every day at 0:00, in January to March and December" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct cron cron = must_parse(rows[i][0]);
        expect_str(cron_words(test_arena(), &cron), str_of(rows[i][1]), PLACE(rows[i][0]));
    }
}

TEST(SLOT_cron_refusals_name_the_field_and_what_may_be_there)
{
    static const char *const rows[][2] = {
        { "61 * * * *", "cron `61 * * * *`: minute `61`: may be 0 to 59" },
        { "61 24 * * *", "minute `61`: may be 0 to 59; hour `24`: may be 0 to 23" },
        { "60 * * * * *", "second `60`: may be 0 to 59" },
        { "* * 0 * *", "day of month `0`: may be 1 to 31, L, L-3, LW or 15W" },
        { "* * 32W * *", "day of month `32W`" },
        { "* * W * *", "day of month `W`" },
        { "* * L-31 * *", "day of month `L-31`" },
        { "* * L-0 * *", "day of month `L-0`" },
        { "* * LL * *", "day of month `LL`" },
        { "* * 1-5W * *", "day of month `1-5W`" },
        { "* * * 13 *", "month `13`: may be 1 to 12 or jan to dec" },
        { "* * * foo *", "month `foo`" },
        { "* * * january *", "month `january`" },
        { "* * * * 8", "day of week `8`: may be 0 to 7, sun to sat, fri#2 or friL" },
        { "* * * * L", "day of week `L`" },
        { "* * * * mon#6", "day of week `mon#6`" },
        { "* * * * mon#0", "day of week `mon#0`" },
        { "* * * * #2", "day of week `#2`" },
        { "? * * * *", "minute `?`" },
        { "jan * * * *", "minute `jan`" },
        { "-1 * * * *", "minute `-1`" },
        { "1- * * * *", "minute `1-`" },
        { "1-2-3 * * * *", "minute `1-2-3`" },
        { "*5 * * * *", "minute `*5`" },
        { "1.5 * * * *", "minute `1.5`" },
        { "1, * * * *", "minute `1,`" },
        { ",1 * * * *", "minute `,1`" },
        { "00000000000000000001 * * * *", "minute `00000000000000000001`" },
        { "*/90 * * * *", "minute `*/90`: a step may be 1 to 60" },
        { "*/0 * * * *", "minute `*/0`: a step may be 1 to 60" },
        { "*/ * * * *", "minute `*/`: a step may be 1 to 60" },
        { "* */25 * * *", "hour `*/25`: a step may be 1 to 24" },
        { "", "cron `` has 0 fields: it must have five" },
        { "90", "cron `90` has 1 field: it must have five" },
        { "   ", "has 0 fields" },
        { "* * * *", "has 4 fields: it must have five (minute, hour, day of month, month, day of "
                     "week), or six with the second first" },
        { "* * * * * * *", "has 7 fields" },
        { "@reboot", "cron `@reboot`: may be @hourly, @daily" },
        { "@", "cron `@`: may be" },
        { "@dailyx", "cron `@dailyx`: may be" },
        { "0 0 30 2 *", "cron `0 0 30 2 *` never comes: no month has such a day" },
        { "0 0 31 2,4,6,9,11 *", "never comes" },
        { "0 0 31W feb *", "never comes" },
        { "0 0 L-29 2 *", "never comes" },
        { "0 0 30 2 */7", "never comes" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct cron cron;
        struct pawl_error err = {0};
        bool parsed = cron_parse(str_of(rows[i][0]), &cron, &err);
        expect(!parsed && err.code == PAWL_INVALID && strstr(err.message, rows[i][1]),
               PLACE(str_format(test_arena(), "`%s` is refused with `%s`, not `%s`", rows[i][0],
                                rows[i][1], parsed ? "nothing" : err.message)
                         .s));
    }
}

TEST(SLOT_cron_text_of_any_length_is_judged)
{
    struct buf text = buf_new(test_arena(), 1 << 20);
    struct cron cron;
    struct pawl_error err = {0};
    while (!text.full)
        buf_add(&text, S("1,"));
    EXPECT_REFUSED(PAWL_INVALID, cron_parse(buf_str(&text), &cron, &err));
    EXPECT(strstr(err.message, "at most 256 bytes"));
}

// All words are judged, and as much is said of them as there is room for.
TEST(SLOT_cron_words_that_are_all_wrong_are_told_as_far_as_they_go)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    struct cron cron;
    struct pawl_error err = {0};
    const char *text = str_format(test_arena(), "%s %s %s %s", word, word, word, word).s;
    EXPECT_REFUSED(PAWL_INVALID, cron_parse(str_format(test_arena(), "%s a", text), &cron, &err));
    EXPECT(strstr(err.message, "minute") && strlen(err.message) > 300);
    MUST(cron_parse(S(" \t0 0 * * * "), &cron, &err));
    EXPECT_REFUSED(PAWL_INVALID, cron_parse(S(" 0 0 0 * * * * *"), &cron, &err));
}

// Rare days are found, and at once: 29 February on a Sunday comes every 28 years, or after 40.
TEST(SLOT_cron_finds_rare_days)
{
    struct cron cron = must_parse("0 0 29 2 */7");
    int64_t found = days_of((struct date){ 2025, 1, 1 }) * DAY_SECONDS;
    static const int64_t years[] = { 2032, 2060, 2088, 2128, 2156, 2184 };
    for (size_t i = 0; i < countof(years); i++) {
        EXPECT(cron_next(&cron, found + 1, &found));
        EXPECT_INT(found, days_of((struct date){ years[i], 2, 29 }) * DAY_SECONDS);
    }
    for (size_t i = countof(years) - 1; i > 0; i--) {
        EXPECT(cron_last(&cron, found - 1, &found));
        EXPECT_INT(found, days_of((struct date){ years[i - 1], 2, 29 }) * DAY_SECONDS);
    }
}
