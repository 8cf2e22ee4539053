// Texts and ids that are looked at a word at a time: every byte counts, wherever it stands.
#include "test.h"

#include <string.h>

#include "base/id.h"
#include "model/text_rule.h"

enum { LENGTH = 3 * sizeof(uint64_t) + 5 };

TEST(a_key_is_printable_wherever_one_looks)
{
    for (size_t at = 0; at < LENGTH; at++)
        for (int byte = 0; byte <= 0xff; byte++) {
            char text[LENGTH];
            memset(text, 'a', sizeof text);
            text[at] = (char)byte;
            bool printable = byte >= 0x20 && byte < 0x7f;
            EXPECT(text_is_key((struct str){ text, sizeof text }) == printable);
        }
    EXPECT(!text_is_key(S("")));
}

TEST(a_key_has_no_control_character_of_two_bytes)
{
    for (size_t at = 0; at + 1 < LENGTH; at++)
        for (int byte = 0; byte <= 0xff; byte++) {
            char text[LENGTH];
            memset(text, '~', sizeof text);
            text[at] = (char)0xc2;
            text[at + 1] = (char)byte;
            bool printable = byte >= 0xa0 && byte < 0xc0;
            EXPECT(text_is_key((struct str){ text, sizeof text }) == printable);
        }
}

TEST(an_id_is_read_as_it_was_written)
{
    struct id id = { INT64_C(0x0123456789abcde), INT64_C(0x3edcba9876543210) }, read;
    for (int i = 0; i < 60; i++, id.high = id.high << 1 & (((int64_t)1 << 60) - 1), id.low >>= 1) {
        char text[ID_TEXT + 1];
        id_format(id, text);
        EXPECT_INT(strlen(text), ID_TEXT);
        EXPECT(id_parse(str_of(text), &read) && id_eq(read, id) && uuid_valid(str_of(text)));
    }
    EXPECT(id_parse(S("01234567-89ab-7cde-bedc-ba9876543210"), &read));
    EXPECT(read.high == INT64_C(0x0123456789abcde) && read.low == INT64_C(0x3edcba9876543210));
}

TEST(every_character_of_an_id_counts)
{
    for (size_t at = 0; at < ID_TEXT; at++)
        for (int byte = 0; byte <= 0xff; byte++) {
            char text[] = "01234567-89ab-7cde-bedc-ba9876543210";
            bool hyphen = text[at] == '-';
            text[at] = (char)byte;
            bool digit = byte != 0 && strchr("0123456789abcdef", byte);
            EXPECT(uuid_valid((struct str){ text, ID_TEXT }) == (hyphen ? byte == '-' : digit));
        }
    EXPECT(!uuid_valid(S("01234567-89ab-7cde-bedc-ba987654321")));
    EXPECT(!uuid_valid(S("01234567-89ab-7cde-bedc-ba98765432100")));
}
