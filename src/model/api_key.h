// The text of an API key: `pawl_<env>_<id>_<secret>_<check>`.
//
//     pawl_live_3kTbX9QmZa_<43 letters and digits>_0aB3xY
//
// The mark lets scanners find keys that leaked, and the check lets them, and us, turn down what
// only looks like one without asking anybody. The id finds the key's row; of the secret only a hash
// is stored. It has 256 random bits, so the hash need not be a slow one.
#pragma once

#include <stdint.h>

#include "base/text.h"

enum api_key_sizes {
    KEY_ENV_BYTES_MAX = 16,
    KEY_ID_BYTES = 10,
    KEY_SECRET_BYTES = 43,
    KEY_CHECK_BYTES = 6,
    KEY_DICE_BYTES = 40,  // random bytes that a key is made from
    KEY_TEXT_BYTES_MAX = 5 + KEY_ENV_BYTES_MAX + 1 + KEY_ID_BYTES + 1 + KEY_SECRET_BYTES + 1
                       + KEY_CHECK_BYTES,
};

// Parts of a text that was parsed: they point into it.
struct api_key {
    struct str env;
    struct str id;
    struct str secret;
};

bool api_key_env_valid(struct str env);  // 1 to 16 of a-z

// Writes the key that these dice make, with a NUL. `env` must be valid. The caller wipes both.
struct str api_key_make(struct str env, const uint8_t dice[KEY_DICE_BYTES],
                        char text[KEY_TEXT_BYTES_MAX + 1]);

// False for whatever is not a key to the letter, a single damaged character included.
bool api_key_parse(struct str text, struct api_key *key);
