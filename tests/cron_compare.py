#!/usr/bin/env python3
"""Compares Pawl's slots with two others: a scan written here, and python3-croniter.

    tests/cron_compare.py SLOTS_PROGRAM CASES [SEED]

The scan is by the rules of docs/schedules.md and by Python's own calendar and time zones: it tries
every day, and every time of the days that match. It must always agree with Pawl. croniter must
agree unless the case is of a class below: each is a row of the table in docs/schedules.md. A
disagreement of no class fails; so does a class without any in 20,000 cases of seed 1.
"""
import collections
import datetime
import pathlib
import random
import re
import subprocess
import sys
import zoneinfo

from croniter import CroniterBadCronError, CroniterBadDateError, croniter

UTC = datetime.timezone.utc
DAY = datetime.timedelta(days=1)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
SLOTS = 4  # compared per case

# ----- the scan: what a field names


def value(text, names, first):
    return names.index(text.lower()) + first if text.lower() in names else int(text)


def numbers(text, low, high, names):
    """The values that the plain parts of a field name; Sunday may be 7."""
    found = set()
    for part in text.split(","):
        if re.search(r"[LW#]", part) and part.lower() not in WEEKDAYS + MONTHS:
            continue
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            a, b = low, high
        elif "-" in span:
            a, b = (value(end, names, low) for end in span.split("-"))
        else:
            a = value(span, names, low)
            b = high if step else a
        if high == 6 and a == 7:
            a, b = 0, (0 if b == 7 else b)
        size = high - low + 1
        walk = range(a, (b if b >= a else b + size) + 1, int(step or 1))
        found |= {(v - low) % size + low for v in walk}
    return found


def nearest_workday(year, month, day):
    """The date of nW, None when the month has no day n: the nearest one of the same month."""
    try:
        wanted = datetime.date(year, month, day)
    except ValueError:
        return None
    tries = (wanted + DAY * by for by in (0, -1, 1, -2, 2))
    return next(d for d in tries if d.month == month and d.isoweekday() < 6)


def day_words(text, date):
    last = max(date + DAY * n for n in range(31) if (date + DAY * n).month == date.month
               and (date + DAY * n).year == date.year)
    for part in text.split(","):
        if part == "LW" and date == nearest_workday(last.year, last.month, last.day):
            return True
        if part == "L" and date == last:
            return True
        if part.startswith("L-") and date + DAY * int(part[2:]) == last:
            return True
        if re.fullmatch(r"\d+W", part) and date == nearest_workday(date.year, date.month,
                                                                   int(part[:-1])):
            return True
    return False


def weekday_words(text, date):
    for part in text.split(","):
        last, nth = re.fullmatch(r"(\w+)L", part), re.fullmatch(r"(\w+)#(\d)", part)
        found = last or nth
        if not found or value(found[1], WEEKDAYS, 0) % 7 != date.isoweekday() % 7:
            continue
        if last and (date + 7 * DAY).month != date.month:
            return True
        if nth and (date.day - 1) // 7 + 1 == int(nth[2]):
            return True
    return False


class Expression:
    """One expression of five or six fields, as sets and as its texts."""

    def __init__(self, text):
        self.text = text
        words = text.split()
        self.with_seconds = len(words) == 6
        self.words = words if self.with_seconds else ["0"] + words
        second, minute, hour, self.day, month, self.weekday = self.words
        self.seconds = sorted(numbers(second, 0, 59, []))
        self.minutes = sorted(numbers(minute, 0, 59, []))
        self.hours = sorted(numbers(hour, 0, 23, []))
        self.months = numbers(month, 1, 12, MONTHS)
        self.days = numbers(self.day, 1, 31, [])
        self.weekdays = numbers(self.weekday, 0, 6, WEEKDAYS)

    def has_star(self):
        return self.day[0] in "*?" or self.weekday[0] in "*?"

    def names_day(self, date):
        if date.month not in self.months:
            return False
        day = date.day in self.days or day_words(self.day, date)
        weekday = date.isoweekday() % 7 in self.weekdays or weekday_words(self.weekday, date)
        return day and weekday if self.has_star() else day or weekday

    def names(self, local):
        return (local.second in self.seconds and local.minute in self.minutes
                and local.hour in self.hours and self.names_day(local.date()))

    def times(self, date):
        for hour in self.hours:
            for minute in self.minutes:
                for second in self.seconds:
                    yield datetime.datetime.combine(date, datetime.time(hour, minute, second))


# ----- the scan: from local time to UTC


def local_of(instant, zone):
    return datetime.datetime.fromtimestamp(instant, UTC).astimezone(zone).replace(tzinfo=None)


def first_instant(local, zone):
    """The first time it comes; a time in a gap is due at the first instant after the gap."""
    instant = int(local.replace(tzinfo=zone).timestamp())
    if local_of(instant, zone) == local:
        return instant
    instant -= instant % 60  # no clock is set within a minute
    while local_of(instant - 60, zone) > local:
        instant -= 60
    return instant


def scan(expression, zone, start, count):
    """The slots after `start`: every day is looked at, for ten years at most."""
    date = local_of(start, zone).date() - DAY
    slots = []
    for _ in range(3660):
        if expression.names_day(date):
            for local in expression.times(date):
                instant = first_instant(local, zone)
                if instant > start and instant not in slots[-1:]:
                    slots.append(instant)
                if len(slots) == count:
                    return slots
        date += DAY
    return slots


# ----- croniter


def in_croniter_words(expression):
    """Seconds come last there, the last Friday is L5, and some things cannot be said: None."""
    words = expression.words[1:] + (expression.words[:1] if expression.with_seconds else [])
    if re.search(r"W|L-", words[2]) or ranges_wrap(expression):
        return None
    words[2] = words[2].replace("?", "*")
    parts = [re.sub(r"^(\w+)L$", lambda m: f"L{value(m[1], WEEKDAYS, 0) % 7}", part)
             for part in words[4].replace("?", "*").split(",")]
    words[4] = ",".join(parts)
    return " ".join(words)


def ranges_wrap(expression):
    for word, names, first in zip(expression.words, ([], [], [], [], MONTHS, WEEKDAYS),
                                  (0, 0, 0, 1, 1, 0)):
        for low, high in re.findall(r"(\w+)-(\w+)", word):
            if value(low, names, first) > value(high, names, first):
                return True
    return False


def walk(words, start, zone, count=SLOTS):
    """The next instants after `start` by croniter."""
    steps = croniter(words, datetime.datetime.fromtimestamp(start, UTC).astimezone(zone))
    return [int(steps.get_next(float)) for _ in range(count)]


def by_calendar(words, zone, start):
    """croniter without a zone, on the clock on the wall; from local time to UTC by our rules."""
    local = int(local_of(start, zone).replace(tzinfo=UTC).timestamp())
    steps = croniter(words, float(local))
    slots = []
    while len(slots) < SLOTS:
        at = datetime.datetime.utcfromtimestamp(steps.get_next(float))
        instant = first_instant(at, zone)
        if instant > start and instant not in slots[-1:]:
            slots.append(instant)
    return slots


# ----- where croniter differs

Case = collections.namedtuple("Case", "expression zone start words ours theirs")


def fields(case):
    """How croniter has read the two day fields: ['*'] is any."""
    expanded, nth = croniter.expand(case.words)
    return expanded[2] == ["*"], expanded[4] == ["*"], nth


def star_step(case):
    any_day, any_weekday, _ = fields(case)
    return case.expression.has_star() and not any_day and not any_weekday


def full_range(case):
    any_day, any_weekday, _ = fields(case)
    return not case.expression.has_star() and (any_day or any_weekday)


def weekday_step(case):
    parts = re.findall(r"(?:^|,)(\w+)/(\d+)", case.expression.weekday)
    return any((7 - value(day, WEEKDAYS, 0)) % int(step) == 0 for day, step in parts)


def seven_with_seconds(case):
    return case.expression.with_seconds and 7 in croniter.expand(case.words)[0][4]


def nth_or_day(case):
    any_day, _, nth = fields(case)
    return nth and not any_day


def nth_beside_plain(case):
    nth, plain = fields(case)[2], case.expression.weekdays
    return any(day in plain for day in nth)


def first_difference(case):
    return next((a, b) for a, b in zip(case.ours, case.theirs) if a != b)


def skips_days(case):
    """croniter passes over a time that it finds when it starts one second or minute before."""
    ours, theirs = first_difference(case)
    local = int(local_of(ours, zoneinfo.ZoneInfo(case.zone)).replace(tzinfo=UTC).timestamp())
    before = local - (1 if case.expression.with_seconds else 60)
    return theirs > ours and croniter(case.words, float(before)).get_next(float) == local


def is_named(case, instant):
    return case.expression.names(local_of(instant, zoneinfo.ZoneInfo(case.zone)))


def clock_was_set(case):
    zone, end = zoneinfo.ZoneInfo(case.zone), max(case.ours + case.theirs)
    before = case.start - 2 * 86400
    offsets = {local_of(at, zone) - local_of(before, zone) - datetime.timedelta(seconds=at - before)
               for at in range(before, end + 86400, 43200)}
    return len(offsets) > 1


def gap(case):
    ours, theirs = first_difference(case)
    return clock_was_set(case) and not is_named(case, ours) and theirs > ours


def goes_back(case):
    walked = [case.start] + case.theirs
    return any(after <= before for before, after in zip(walked, walked[1:]))


def not_named(case):
    _, theirs = first_difference(case)
    return clock_was_set(case) and not is_named(case, theirs)


def missed(case):
    ours, theirs = first_difference(case)
    return clock_was_set(case) and is_named(case, ours) and theirs > ours


# Each is a row of the table in docs/schedules.md. Those of the calendar are about which days are
# meant; those of the clock only count when croniter means the same days and times as Pawl.
CALENDAR = {"star step": star_step, "full range": full_range, "weekday step": weekday_step,
            "seven with seconds": seven_with_seconds, "nth or day": nth_or_day,
            "nth beside plain": nth_beside_plain, "skipped days": skips_days}
CLOCK = {"gap": gap, "goes back": goes_back, "not named": not_named, "missed": missed}


def judge(case):
    """`agrees`, `cannot say it`, the class of a disagreement, or None: nobody knows why."""
    if case.words is None:
        return "cannot say it"
    zone = zoneinfo.ZoneInfo(case.zone)
    try:
        calendar = by_calendar(case.words, zone, case.start)
        theirs = walk(case.words, case.start, zone)
    except (CroniterBadCronError, CroniterBadDateError):
        return "cannot say it"
    classes = CALENDAR if calendar != case.ours else CLOCK
    case = case._replace(theirs=calendar if calendar != case.ours else theirs)
    if case.theirs == case.ours:
        return "agrees"
    return next((name for name, explains in classes.items() if explains(case)), None)


# ----- cases


def draw_part(dice, low, high, names):
    def one():
        number = dice.randint(low, high)
        named = number - low < len(names) and dice.random() < 0.5
        return names[number - low] if named else str(number)
    kind = dice.random()
    if kind < 0.4:
        return one()
    if kind < 0.65:
        a, b = one(), one()
        if value(a, names, low) > value(b, names, low) and dice.random() < 0.8:
            a, b = b, a
        return f"{a}-{b}" + (f"/{dice.randint(1, 7)}" if dice.random() < 0.3 else "")
    step = dice.randint(1, 7 if high == 7 else high - low + 1)
    return f"*/{step}" if kind < 0.9 else f"{one()}/{step}"


def draw_field(dice, star, low, high, names=()):
    if dice.random() < star:
        return "*"
    return ",".join(draw_part(dice, low, high, names) for _ in range(dice.choice((1, 1, 1, 2, 3))))


def draw_day(dice):
    kind = dice.random()
    if kind < 0.12:
        words = ["L", "L", f"L-{dice.randint(1, 27)}", "LW", f"{dice.randint(1, 31)}W"]
        return ",".join(dice.sample(words + [str(dice.randint(1, 31))], dice.choice((1, 1, 2))))
    return "?" if kind < 0.14 else draw_field(dice, 0.55, 1, 31)


def draw_weekday(dice):
    kind = dice.random()
    if kind < 0.12:
        day = dice.choice(WEEKDAYS + list("01234567"))
        return f"{day}#{dice.randint(1, 5)}" if dice.random() < 0.6 else f"{day}L"
    if kind < 0.15:
        return f"{dice.choice(WEEKDAYS)}#{dice.randint(1, 4)},{dice.choice(WEEKDAYS)}"
    return "?" if kind < 0.17 else draw_field(dice, 0.5, 0, dice.choice((6, 7)), WEEKDAYS)


def draw_expression(dice):
    words = [draw_field(dice, 0.15, 0, 59), draw_field(dice, 0.4, 0, 23), draw_day(dice),
             draw_field(dice, 0.8, 1, 12, MONTHS), draw_weekday(dice)]
    if dice.random() < 0.5:  # around the hours in which clocks are set
        words[1] = dice.choice(("2", "1-3", "0", "1", "0-3", "23", "*", "*/2"))
    if dice.random() < 0.1:
        words.insert(0, draw_field(dice, 0.1, 0, 59))
    return " ".join(words)


def changes(zone, year):
    """When a zone's clock is set in a year, to the minute."""
    found = []
    instant = int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp())
    for end in range(instant, instant + 366 * 86400, 4 * 86400):
        if local_of(end, zone) - local_of(end - 4 * 86400, zone) == 4 * DAY:
            continue
        low, high = end // 60 - 4 * 1440, end // 60
        while high - low > 1:
            middle = (low + high) // 2
            same = local_of(middle * 60, zone) - local_of(low * 60, zone)
            if same == datetime.timedelta(minutes=middle - low):
                low = middle
            else:
                high = middle
        found.append(high * 60)
    return found


class Draw:
    """Cases by the dice: the same seed draws the same ones."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.names = sorted(name for name in zoneinfo.available_timezones()
                            if "/" in name and not name.startswith(("Etc", "posix", "right")))
        self.known = {}

    def case(self):
        dice = self.dice
        name = "UTC" if dice.random() < 0.1 else dice.choice(self.names)
        zone, year = zoneinfo.ZoneInfo(name), dice.randint(1975, 2060)
        if (name, year) not in self.known:
            self.known[name, year] = changes(zone, year)
        start = int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp())
        start += 60 * dice.randrange(365 * 1440)
        if self.known[name, year] and dice.random() < 0.8:
            start = dice.choice(self.known[name, year]) + 60 * dice.randint(-36 * 60, 6 * 60)
        return Expression(draw_expression(dice)), name, start


def compare(program, count, seed):
    draw, seen, wrong = Draw(seed), collections.Counter(), []
    drawn = [draw.case() for _ in range(count)]
    asked = "".join(f"{name}\t{start}\t{SLOTS}\t{e.text}\n" for e, name, start in drawn)
    said = subprocess.run([program], input=asked, text=True, check=True, capture_output=True)
    for (expression, name, start), line in zip(drawn, said.stdout.splitlines(), strict=True):
        ours = [] if line.startswith("!") else [int(slot) for slot in line.split()]
        scanned = scan(expression, zoneinfo.ZoneInfo(name), start, SLOTS)
        if scanned != ours[:len(scanned)] or (line.startswith("!") and "never comes" not in line):
            wrong.append(f"{expression.text} | {name} {start}: {line}, the scan says {scanned}")
        elif len(scanned) < SLOTS:
            seen["rarer than once in ten years"] += 1
        else:
            words = in_croniter_words(expression)
            found = judge(Case(expression, name, start, words, ours, []))
            seen[found] += 1
            if found is None:
                wrong.append(f"{expression.text} | {name} {start}: croniter differs: why?")
    return seen, wrong


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])
    seen, wrong = compare(program, count, seed)
    for name, times in seen.most_common():
        print(f"{times:7} {name}")
    for line in wrong[:20]:
        print("FAILED", line)
    documented = pathlib.Path(__file__).parent.parent.joinpath("docs/schedules.md").read_text()
    full = count >= 20000 and seed == 1
    idle = [name for name in (*CALENDAR, *CLOCK)
            if f"| {name} |" not in documented or (full and not seen[name])]
    for name in idle:
        print(f"FAILED the class `{name}` explains nothing, or docs/schedules.md does not name it")
    missed = sum(not seen[name] for name in (*CALENDAR, *CLOCK))
    print(f"cron: {count} tried, {count - len(wrong)} survived, {len(wrong)} found, "
          f"{missed} not reached")
    print(f"pawl-cases: {count - len(wrong)} passed, {len(wrong) + len(idle)} failed")
    return 1 if wrong or idle else 0


if __name__ == "__main__":
    sys.exit(main())
