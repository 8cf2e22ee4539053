// Names of content are SHA-256, look-up keys are SipHash with the store's secret, sums are BLAKE2b.
// None of them needs sodium_init, which chooses a faster form of the last: see sum_prepare.

#include "base/hash.h"

#include <assert.h>
#include <sodium.h>

#include "base/arena.h"

enum { NAME_BYTES = 16, NAME_DIGITS = 32, PARTS_MAX = 16 };

_Static_assert(HASH_SECRET_BYTES == crypto_shorthash_KEYBYTES, "the secret is SipHash's key");
_Static_assert(crypto_shorthash_BYTES == 8, "a hash is 64 bits");

static const unsigned char *bytes_of(struct str text)
{
    return (const unsigned char *)(text.n > 0 ? text.s : "");
}

struct str hash_name(struct arena *arena, struct str content)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char *name = arena_alloc(arena, NAME_DIGITS + 1);
    if (!name)
        return S("");
    crypto_hash_sha256(digest, bytes_of(content), content.n);
    sodium_bin2hex(name, NAME_DIGITS + 1, digest, NAME_BYTES);
    return (struct str){ name, NAME_DIGITS };
}

// The hash is kept in stores: little-endian everywhere, so that a store can change machines.
static void put_number(unsigned char bytes[8], uint64_t number)
{
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get_number(const unsigned char bytes[8])
{
    uint64_t number = 0;
    for (size_t i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

// Each part is hashed by itself, then the lengths and hashes together: no copy of long texts.
int64_t hash_short(const uint8_t secret[HASH_SECRET_BYTES], const struct str *parts, size_t count)
{
    unsigned char list[PARTS_MAX * 16], digest[8];
    assert(count <= PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        put_number(list + i * 16, parts[i].n);
        crypto_shorthash(list + i * 16 + 8, bytes_of(parts[i]), parts[i].n, secret);
    }
    crypto_shorthash(digest, list, count * 16, secret);
    return (int64_t)(get_number(digest) & INT64_MAX);
}

void hash_secret(struct str secret, char digits[HASH_DIGITS + 1])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, bytes_of(secret), secret.n);
    sodium_bin2hex(digits, HASH_DIGITS + 1, digest, sizeof digest);
    sodium_memzero(digest, sizeof digest);
}

void hash_sign(struct str secret, struct str text, char digits[HASH_DIGITS + 1])
{
    crypto_auth_hmacsha256_state state;
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    _Static_assert(2 * sizeof mac == HASH_DIGITS, "two digits a byte");
    crypto_auth_hmacsha256_init(&state, bytes_of(secret), secret.n);
    crypto_auth_hmacsha256_update(&state, bytes_of(text), text.n);
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2hex(digits, HASH_DIGITS + 1, mac, sizeof mac);
    wipe(&state, sizeof state);
}

bool hash_same(const char a[HASH_DIGITS], const char b[HASH_DIGITS])
{
    return sodium_memcmp(a, b, HASH_DIGITS) == 0;
}

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct hash_stream), "it has room");

static crypto_hash_sha256_state *stream_of(struct hash_stream *hash)
{
    return (crypto_hash_sha256_state *)(void *)hash->state;
}

void hash_begin(struct hash_stream *hash)
{
    crypto_hash_sha256_init(stream_of(hash));
}

void hash_add(struct hash_stream *hash, const void *bytes, size_t n)
{
    crypto_hash_sha256_update(stream_of(hash), bytes, n);
}

void hash_end(struct hash_stream *hash, char digits[HASH_DIGITS + 1])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(stream_of(hash), digest);
    sodium_bin2hex(digits, HASH_DIGITS + 1, digest, sizeof digest);
}

// ----- a hash over many pieces

_Static_assert(sizeof(struct hash_sum) >= sizeof(crypto_generichash_state), "the state fits");
_Static_assert(_Alignof(struct hash_sum) >= _Alignof(crypto_generichash_state), "and is aligned");

static crypto_generichash_state *sum_of(struct hash_sum *sum)
{
    return (crypto_generichash_state *)sum->state;
}

void sum_prepare(void)
{
    (void)!sodium_init();  // what it cannot choose stays as it is
}

void sum_begin(struct hash_sum *sum)
{
    crypto_generichash_init(sum_of(sum), NULL, 0, crypto_generichash_BYTES);
}

void sum_number(struct hash_sum *sum, int64_t number)
{
    unsigned char bytes[8];
    put_number(bytes, (uint64_t)number);
    crypto_generichash_update(sum_of(sum), bytes, sizeof bytes);
}

void sum_text(struct hash_sum *sum, struct str text)
{
    sum_number(sum, (int64_t)text.n);
    crypto_generichash_update(sum_of(sum), bytes_of(text), text.n);
}

void sum_end(struct hash_sum *sum, char digits[HASH_DIGITS + 1])
{
    unsigned char digest[crypto_generichash_BYTES];
    crypto_generichash_final(sum_of(sum), digest, sizeof digest);
    sodium_bin2hex(digits, HASH_DIGITS + 1, digest, sizeof digest);
}

void wipe(void *bytes, size_t n)
{
    sodium_memzero(bytes, n);
}
