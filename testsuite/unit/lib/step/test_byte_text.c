/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/byte_text.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

START_TEST(plain_text_stays_as_it_is)
{
    static const char *const texts[] = {
        "",
        "PATH=/usr/bin",
        ("gr\xc3\xbc\xc3\x9f"
         "e"),
        "\xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "\xf4\x8f\xbf\xbd",
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_ptr_eq(byte_text_encode(arena, texts[i]), texts[i]);
        ck_assert_str_eq(byte_text_decode(arena, texts[i]), texts[i]);
    }
    arena_free(arena);
}
END_TEST

/* Text that JSON would refuse, and text that looks as if it had been replaced. */
START_TEST(all_bytes_come_back_through_json)
{
    static const char *const texts[] = {
        "\xff",
        "a\xe9",
        "\xc3",
        "\xc0\xaf",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xf4\x8f\x9f\xbf",
        "\x80\x80\x80",
        "\xf4\x8f\x9f",
        "x\xf4\x8f\x9e\x80y",
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const char *encoded = byte_text_encode(arena, texts[i]);
        const struct json *parsed;

        json_print(json_string(arena, encoded), &out);
        parsed = json_parse(arena, out.text, out.length, NULL, NULL);
        ck_assert_ptr_nonnull(parsed);
        ck_assert_str_eq(byte_text_decode(arena, parsed->text), texts[i]);
    }
    arena_free(arena);
}
END_TEST

START_TEST(every_text_of_two_bytes_comes_back)
{
    arena = arena_new(0);
    for (unsigned i = 0x101; i < 0x10000; i++) {
        const char text[] = {(char)(i & 0xFF), (char)(i >> 8), '\0'};

        if (text[0] == '\0')
            continue;
        ck_assert_str_eq(byte_text_decode(arena, byte_text_encode(arena, text)), text);
    }
    arena_free(arena);
}
END_TEST

SUITE("byte_text", plain_text_stays_as_it_is, all_bytes_come_back_through_json,
      every_text_of_two_bytes_comes_back)
