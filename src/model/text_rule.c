// Loops over bytes: no locale, no regular expressions.

#include "model/text_rule.h"

#include <string.h>

#include "base/id.h"

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool text_is_name(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_alnum(text.s[i]) && !memchr("._:-", text.s[i], 4))
            return false;
    return text.n > 0;
}

bool text_is_type(struct str text)
{
    return text_is_name(text) && is_alnum(text.s[0]);
}

// How much of the text is whole words of printable ASCII. Adding one reaches the highest bit of a
// byte that is 0x7f, subtracting borrows into that of one that is too small.
static size_t printable_prefix(struct str text)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t n = 0;
    uint64_t word;
    for (; n + sizeof word <= text.n; n += sizeof word) {
        memcpy(&word, text.s + n, sizeof word);
        if ((word | (word + each) | (word - each * 0x20)) & each << 7)
            break;
    }
    return n;
}

// Control characters are U+0000 to U+001F and U+007F to U+009F.
bool text_is_key(struct str text)
{
    if (text.n == 0)
        return false;
    size_t n = printable_prefix(text);
    struct str rest = { text.s + n, text.n - n };
    for (size_t i = 0; i < rest.n; i++) {
        unsigned char c = (unsigned char)rest.s[i];
        bool c1 = c == 0xc2 && i + 1 < rest.n && (unsigned char)rest.s[i + 1] < 0xa0;
        if (c < 0x20 || c == 0x7f || c1)
            return false;
    }
    return utf8_valid(rest);
}

bool text_is_uuid(struct str text)
{
    return uuid_valid(text);
}

static bool is_hex(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\0' || !strchr("0123456789abcdef", s[i]))
            return false;
    return true;
}

static bool is_zero(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != '0')
            return false;
    return true;
}

// version-trace-parent-flags: `00-<32 hex>-<16 hex>-<2 hex>`. Version ff does not exist; one after
// 00 may carry more behind another dash.
bool text_is_traceparent(struct str text)
{
    const char *s = text.s;
    if (text.n < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-')
        return false;
    if (!is_hex(s, 2) || !is_hex(s + 3, 32) || !is_hex(s + 36, 16) || !is_hex(s + 53, 2))
        return false;
    if (is_zero(s + 3, 32) || is_zero(s + 36, 16) || memcmp(s, "ff", 2) == 0)
        return false;
    return text.n == 55 || (!is_zero(s, 2) && s[55] == '-' && text_is_key(text));
}

struct str text_clip(struct str text, size_t bytes_max)
{
    size_t n = text.n < bytes_max ? text.n : bytes_max;
    while (n > 0 && n < text.n && ((unsigned char)text.s[n] & 0xc0) == 0x80)
        n--;
    struct str clipped = { text.s, n };
    bool storable = n == 0 || (utf8_valid(clipped) && !memchr(clipped.s, 0, n));
    return storable ? clipped : S("(an error text that is not UTF-8)");
}
