// Hashes, all by libsodium.
#pragma once

#include "base/text.h"

enum { HASH_SECRET_BYTES = 16 };

// The first 32 hexadecimal digits of SHA-256: a name for content, the same everywhere for ever.
struct str hash_name(struct arena *arena, struct str content);

// A 63-bit keyed hash (SipHash-2-4) of several texts, each with its length, so that ("a", "bc") and
// ("ab", "c") differ. The secret is the store's: nobody outside can make two keys meet.
int64_t hash_short(const uint8_t secret[HASH_SECRET_BYTES], const struct str *parts, size_t count);

// All 64 hexadecimal digits of SHA-256: of a secret that is compared and never shown.
enum { HASH_DIGITS = 64 };
void hash_secret(struct str secret, char digits[HASH_DIGITS + 1]);

// HMAC-SHA256 of a text in hexadecimal digits: who has the secret can tell that we wrote it.
void hash_sign(struct str secret, struct str text, char digits[HASH_DIGITS + 1]);
// A hash (BLAKE2b, 256 bits) over many pieces, each with its length, as 64 digits.
struct hash_sum {
    _Alignas(64) unsigned char state[384];
};
void sum_prepare(void);  // once, before many: sums are the same without it, and slower
void sum_begin(struct hash_sum *sum);
void sum_number(struct hash_sum *sum, int64_t number);
void sum_text(struct hash_sum *sum, struct str text);
void sum_end(struct hash_sum *sum, char digits[HASH_DIGITS + 1]);

// Compares two such hashes in a time that tells nothing.
bool hash_same(const char a[HASH_DIGITS], const char b[HASH_DIGITS]);

// SHA-256 of what comes in pieces, as HASH_DIGITS digits.
struct hash_stream {
    uint64_t state[16];
};
void hash_begin(struct hash_stream *hash);
void hash_add(struct hash_stream *hash, const void *bytes, size_t n);
void hash_end(struct hash_stream *hash, char digits[HASH_DIGITS + 1]);

// Overwrites what nobody may find later.
void wipe(void *bytes, size_t n);
