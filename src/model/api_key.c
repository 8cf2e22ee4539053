// Numbers are written in 62 digits, most significant first, always in as many as there is room for.
#include "model/api_key.h"

#include <assert.h>
#include <string.h>

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
enum { BASE = 62, ID_DICE = 8, SECRET_DICE = KEY_DICE_BYTES - ID_DICE };

static bool all_of(struct str text, const char *letters)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] == '\0' || !strchr(letters, text.s[i]))
            return false;
    return true;
}

bool api_key_env_valid(struct str env)
{
    return env.n >= 1 && env.n <= KEY_ENV_BYTES_MAX && all_of(env, "abcdefghijklmnopqrstuvwxyz");
}

// The number in `bytes`, which it uses up, as so many digits; what does not fit is left off.
static void write_number(uint8_t *bytes, size_t n, char *text, size_t digit_count)
{
    for (size_t i = digit_count; i > 0; i--) {
        unsigned rest = 0;
        for (size_t k = 0; k < n; k++) {
            unsigned part = rest << 8 | bytes[k];
            bytes[k] = (uint8_t)(part / BASE);
            rest = part % BASE;
        }
        text[i - 1] = digits[rest];
    }
}

// CRC-32 as in zlib: one damaged character is always noticed.
static uint32_t checksum(struct str text)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < text.n; i++) {
        crc ^= (uint8_t)text.s[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320 & (0 - (crc & 1)));
    }
    return ~crc;
}

static void write_check(struct str checked, char text[KEY_CHECK_BYTES])
{
    uint32_t crc = checksum(checked);
    uint8_t bytes[] = { (uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                        (uint8_t)crc };
    write_number(bytes, sizeof bytes, text, KEY_CHECK_BYTES);
}

static char *add(char *end, const void *bytes, size_t n)
{
    memcpy(end, bytes, n);
    return end + n;
}

struct str api_key_make(struct str env, const uint8_t dice[KEY_DICE_BYTES],
                        char text[KEY_TEXT_BYTES_MAX + 1])
{
    uint8_t left[KEY_DICE_BYTES];
    char *end = text;
    assert(api_key_env_valid(env));
    memcpy(left, dice, sizeof left);
    end = add(end, "pawl_", 5);
    end = add(end, env.s, env.n);
    *end++ = '_';
    write_number(left, ID_DICE, end, KEY_ID_BYTES);
    end += KEY_ID_BYTES;
    *end++ = '_';
    write_number(left + ID_DICE, SECRET_DICE, end, KEY_SECRET_BYTES);  // which leaves zeros behind
    end += KEY_SECRET_BYTES;
    struct str checked = { text, (size_t)(end - text) };
    *end++ = '_';
    write_check(checked, end);
    end[KEY_CHECK_BYTES] = '\0';
    return (struct str){ text, checked.n + 1 + KEY_CHECK_BYTES };
}

static bool part(struct str *rest, size_t bytes, struct str *value)
{
    return str_cut(*rest, '_', value, rest) && value->n == bytes && all_of(*value, digits);
}

bool api_key_parse(struct str text, struct api_key *key)
{
    struct str mark, rest;
    char check[KEY_CHECK_BYTES];
    if (text.n > KEY_TEXT_BYTES_MAX || !str_cut(text, '_', &mark, &rest)
        || !str_eq(mark, S("pawl")) || !str_cut(rest, '_', &key->env, &rest)
        || !api_key_env_valid(key->env) || !part(&rest, KEY_ID_BYTES, &key->id)
        || !part(&rest, KEY_SECRET_BYTES, &key->secret) || rest.n != KEY_CHECK_BYTES)
        return false;
    write_check((struct str){ text.s, text.n - 1 - KEY_CHECK_BYTES }, check);
    return memcmp(check, rest.s, KEY_CHECK_BYTES) == 0;
}
