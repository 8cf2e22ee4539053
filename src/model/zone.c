// A zone is a list of changes and a rule for what comes after them. Every question is answered from
// the span around an instant; because an offset is at most a day or so, the spans that can matter
// for a local time are near it, and the list is never walked as a whole.
#include "model/zone.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/calendar.h"
#include "base/world.h"
#include "model/zone_rule.h"

// RFC 8536 recommends -25 to 26 hours; offsets beyond are refused, so all shifts are below
// SHIFT_MAX.
enum { OFFSET_MIN = -25 * HOUR_SECONDS + 1,
       OFFSET_MAX = 26 * HOUR_SECONDS - 1,
       SHIFT_MAX = OFFSET_MAX - OFFSET_MIN };

static const int64_t far_away = (int64_t)1 << 60;  // beyond every time, and offsets can be added

struct change {
    int64_t at;
    int64_t offset;  // from then on
};

struct zone {
    struct str name;
    int64_t offset_before;         // the first change
    const struct change *changes;  // in their order
    size_t count;
    struct zone_rule rule;         // from the last change on
};

// ----- reading a file

enum { HEADER_BYTES = 44, TYPE_BYTES = 6, COUNT_MAX = 1 << 16 };

struct header {
    size_t utc_count, standard_count, leap_count, time_count, type_count, name_bytes;
};

// A block of data: the times of changes, the type of each, the types.
struct block {
    const unsigned char *times, *indexes, *types;
    struct header header;
};

static int64_t number_at(const unsigned char *bytes, size_t n)
{
    uint64_t number = bytes[0] & 0x80 ? UINT64_MAX : 0;  // two's complement
    for (size_t i = 0; i < n; i++)
        number = number << 8 | bytes[i];
    return (int64_t)number;
}

static bool take_header(struct str *bytes, struct header *header)
{
    if (bytes->n < HEADER_BYTES || !str_starts(*bytes, S("TZif")) || bytes->s[4] < '2')
        return false;
    size_t *counts[] = { &header->utc_count, &header->standard_count, &header->leap_count,
                         &header->time_count, &header->type_count, &header->name_bytes };
    for (size_t i = 0; i < countof(counts); i++) {
        *counts[i] = (uint32_t)number_at((const unsigned char *)bytes->s + 20 + i * 4, 4);
        if (*counts[i] > COUNT_MAX)
            return false;
    }
    *bytes = (struct str){ bytes->s + HEADER_BYTES, bytes->n - HEADER_BYTES };
    return true;
}

// The block after a header, whose times have `time_bytes` each.
static bool take_block(struct str *bytes, const struct header *header, size_t time_bytes,
                       struct block *block)
{
    size_t size = header->time_count * (time_bytes + 1) + header->type_count * TYPE_BYTES
                + header->name_bytes + header->leap_count * (time_bytes + 4)
                + header->standard_count + header->utc_count;
    if (size > bytes->n)
        return false;
    block->header = *header;
    block->times = (const unsigned char *)bytes->s;
    block->indexes = block->times + header->time_count * time_bytes;
    block->types = block->indexes + header->time_count;
    *bytes = (struct str){ bytes->s + size, bytes->n - size };
    return true;
}

static bool type_offset(const struct block *block, size_t type, int64_t *offset)
{
    if (type >= block->header.type_count)
        return false;
    *offset = number_at(block->types + type * TYPE_BYTES, 4);
    return *offset >= OFFSET_MIN && *offset <= OFFSET_MAX;
}

static bool read_changes(const struct block *block, struct change *changes)
{
    for (size_t i = 0; i < block->header.time_count; i++) {
        changes[i].at = number_at(block->times + i * 8, 8);
        if (changes[i].at < -far_away || changes[i].at > far_away
            || (i > 0 && changes[i].at <= changes[i - 1].at)
            || !type_offset(block, block->indexes[i], &changes[i].offset))
            return false;
    }
    return true;
}

// Without a rule the offset of the last change stays.
static bool read_rule(struct zone *zone, struct str footer, struct pawl_error *err)
{
    struct str empty, line, rest;
    if (!str_cut(footer, '\n', &empty, &rest) || empty.n || !str_cut(rest, '\n', &line, &rest))
        return fail(err, PAWL_INVALID, "its last line is missing");
    zone->rule.standard = zone->count ? zone->changes[zone->count - 1].offset
                                      : zone->offset_before;
    return line.n == 0 || zone_rule_parse(line, &zone->rule, err);
}

static bool read_zone(struct arena *arena, struct str bytes, struct zone *zone,
                      struct pawl_error *err)
{
    struct header header;
    struct block block;
    // The first block is for readers that know 32 bits only.
    if (!take_header(&bytes, &header) || !take_block(&bytes, &header, 4, &block)
        || !take_header(&bytes, &header) || !take_block(&bytes, &header, 8, &block))
        return fail(err, PAWL_INVALID, "it is cut, or no file of version 2 or later");
    if (header.leap_count > 0)
        return fail(err, PAWL_INVALID, "it counts leap seconds");
    struct change *changes = arena_new(arena, struct change, header.time_count + 1);
    if (!changes)
        return fail(err, PAWL_NO_MEMORY, "no memory");
    if (!type_offset(&block, 0, &zone->offset_before) || !read_changes(&block, changes))
        return fail(err, PAWL_INVALID, "its changes make no sense");
    zone->changes = changes;
    zone->count = header.time_count;
    return read_rule(zone, bytes, err);
}

bool zone_parse(struct arena *arena, struct str name, struct str bytes, struct zone **zone,
                struct pawl_error *err)
{
    struct pawl_error why = {0};
    *zone = arena_new(arena, struct zone, 1);
    if (!*zone)
        return fail(err, PAWL_NO_MEMORY, "no memory to read time zone %.*s", STR(name));
    (*zone)->name = str_dup(arena, name);
    if (!read_zone(arena, bytes, *zone, &why))
        return fail(err, why.code, "the file of time zone %.*s cannot be used: %s", STR(name),
                    why.message);
    return true;
}

const struct zone *zone_utc(void)
{
    static const struct zone utc = { .name = { "UTC", 3 } };
    return &utc;
}

struct str zone_name(const struct zone *zone)
{
    return zone->name;
}

// ----- spans

// How many changes are at or before an instant.
static size_t changes_until(const struct zone *zone, int64_t instant)
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (zone->changes[middle].at <= instant)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Narrows a span around an instant by one more change. Of two at one instant the later one counts.
static void narrow(struct zone_span *span, int64_t instant, struct change change)
{
    if (change.at > instant) {
        span->until = change.at < span->until ? change.at : span->until;
        return;
    }
    if (change.at >= span->from) {
        span->from = change.at;
        span->offset = change.offset;
    }
}

// By the rule alone. A change may be a week away from its day, and so in a neighbouring year: with
// the changes of five years there is always one before the instant and one after it.
static struct zone_span rule_span(const struct zone_rule *rule, int64_t instant)
{
    struct zone_span span = { -far_away, far_away, rule->standard };
    if (!rule->changes)
        return span;
    int64_t year = date_of(floor_div(instant, DAY_SECONDS)).year;
    for (int64_t y = year - 2; y <= year + 2; y++) {
        narrow(&span, instant, (struct change){ zone_rule_begin(rule, y), rule->summer });
        narrow(&span, instant, (struct change){ zone_rule_end(rule, y), rule->standard });
    }
    return span;
}

struct zone_span zone_span(const struct zone *zone, int64_t instant)
{
    size_t passed = changes_until(zone, instant);
    int64_t from = passed > 0 ? zone->changes[passed - 1].at : -far_away;
    if (passed < zone->count)
        return (struct zone_span){
            .from = from,
            .until = zone->changes[passed].at,
            .offset = passed > 0 ? zone->changes[passed - 1].offset : zone->offset_before,
        };
    struct zone_span span = rule_span(&zone->rule, instant);
    if (span.from < from)
        span.from = from;
    return span;
}

// ----- local time

int64_t zone_reached(const struct zone *zone, int64_t instant)
{
    struct zone_span span = zone_span(zone, instant);
    int64_t reached = instant + span.offset;
    while (span.from > instant - SHIFT_MAX) {
        span = zone_span(zone, span.from - 1);
        int64_t end = span.until + span.offset - 1;
        reached = end > reached ? end : reached;
    }
    return reached;
}

int64_t zone_first(const struct zone *zone, int64_t local)
{
    // No clock is further ahead than this, so nothing before it matters.
    struct zone_span span = zone_span(zone, local - OFFSET_MAX);
    while (span.until + span.offset <= local)
        span = zone_span(zone, span.until);
    return span.from > local - span.offset ? span.from : local - span.offset;
}

static struct str offset_text(struct arena *arena, int64_t offset)
{
    int64_t size = offset < 0 ? -offset : offset;
    struct str text = str_format(arena, "%c%02" PRId64 ":%02" PRId64, offset < 0 ? '-' : '+',
                                 size / HOUR_SECONDS, size / MINUTE_SECONDS % 60);
    if (size % MINUTE_SECONDS == 0)
        return text;
    return str_format(arena, "%.*s:%02" PRId64, STR(text), size % MINUTE_SECONDS);
}

struct str zone_time_text(struct arena *arena, const struct zone *zone, pawl_time time)
{
    int64_t instant = floor_div(time, SECONDS(1)), fraction = floor_mod(time, SECONDS(1));
    int64_t offset = zone_span(zone, instant).offset, local = instant + offset;
    struct date date = date_of(floor_div(local, DAY_SECONDS));
    int64_t second = floor_mod(local, DAY_SECONDS);
    struct str micro = fraction ? str_format(arena, ".%06" PRId64, fraction) : S("");
    return str_format(arena,
                      "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64
                      ":%02" PRId64 "%.*s%.*s",
                      date.year, date.month, date.day, second / HOUR_SECONDS,
                      second / MINUTE_SECONDS % 60, second % MINUTE_SECONDS, STR(micro),
                      STR(offset_text(arena, offset)));
}
