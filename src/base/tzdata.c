// A name is checked before it becomes a path, because it comes from configurations and requests:
// nothing outside the directory can be named.
#include "base/tzdata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/guess.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static const char *directory(void)
{
    const char *set = secure_getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
    return set && set[0] ? set : "/usr/share/zoneinfo";
}

static bool name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
        || c == '_' || c == '+' || c == '-';
}

// Words of letters, digits, _ + and -, with single slashes between them.
static bool name_valid(struct str name)
{
    if (name.n == 0 || name.n > ZONE_NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        bool between = i > 0 && i + 1 < name.n && name.s[i - 1] != '/';
        if (!name_letter(name.s[i]) && !(name.s[i] == '/' && between))
            return false;
    }
    return true;
}

// The whole of a regular file. False with errno: ENOENT for whatever is no file, too.
static bool read_file(struct arena *arena, struct str path, struct str *bytes)
{
    struct stat status;
    struct buf text = buf_new(arena, FILE_BYTES_MAX);
    char part[4096];
    FILE *file = fopen(path.s, "rbe");
    if (!file)
        return false;
    // defensive: what is open can be looked at
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) {
        fclose(file);
        errno = ENOENT;
        return false;
    }
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;)
        buf_add(&text, (struct str){ part, n });
    bool whole = !ferror(file) && !text.full;  // defensive: a file that was opened can be read
    fclose(file);
    if (!whole)
        errno = EIO;
    *bytes = buf_str(&text);
    return whole;
}

static const char *city(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

// `DE  +5230+01322  Europe/Berlin  Most locations`: the third column of zone.tab. NULL: a remark.
static const char *zone_of_line(struct arena *arena, struct str line)
{
    struct str name = S("");
    if (str_starts(line, S("#")))
        return NULL;
    for (int column = 0; column < 3; column++)
        (void)str_cut(line, '\t', &name, &line);  // what is missing is empty
    return name.n ? str_cstr(arena, name) : NULL;
}

// The zone a name was most likely meant for: by all of its letters, else by its city. NULL: none.
static const char *nearest(struct arena *arena, struct str name, struct str list)
{
    struct guess whole = {0}, by_city = {0};
    const char *zone, *zone_of_city = NULL;
    struct str line;
    for (bool more = true; more;) {
        more = str_cut(list, '\n', &line, &list);
        if (!(zone = zone_of_line(arena, line)))
            continue;
        guess_try(&whole, name, zone);
        guess_try(&by_city, name, city(zone));
        if (by_city.name == city(zone))
            zone_of_city = zone;
    }
    return whole.name ? whole.name : zone_of_city;
}

static bool unknown(struct arena *arena, struct str name, struct pawl_error *err)
{
    struct str list;
    if (!read_file(arena, str_format(arena, "%s/zone.tab", directory()), &list))
        return fail(err, PAWL_INVALID, "there is no time zone `%.*s`: in %s are no time zones at "
                                       "all; they are in the package tzdata",
                    STR(name), directory());
    const char *meant = nearest(arena, name, list);
    if (meant)
        return fail(err, PAWL_INVALID, "there is no time zone `%.*s`: did you mean %s?", STR(name),
                    meant);
    return fail(err, PAWL_INVALID, "there is no time zone `%.*s`: it must be an IANA name such as "
                                   "Europe/Berlin or UTC",
                STR(name));
}

bool tzdata_read(struct arena *arena, struct str name, struct str *bytes, struct pawl_error *err)
{
    char why[128];
    if (!name_valid(name))
        return unknown(arena, name, err);
    if (read_file(arena, str_format(arena, "%s/%.*s", directory(), STR(name)), bytes))
        return true;
    if (arena->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to read the file of time zone %.*s", STR(name));
    if (errno == ENOENT || errno == ENOTDIR)
        return unknown(arena, name, err);
    return fail(err, PAWL_STORE, "the file of time zone %.*s cannot be read: %s", STR(name),
                strerror_r(errno, why, sizeof(why)));
}
