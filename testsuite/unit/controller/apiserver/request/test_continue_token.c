/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/continue_token.h"

#include <errno.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(a_token_comes_back_as_it_went)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct continue_token token = {.revision = 9007199254740993, .after = "team a/x y"};
    struct continue_token back;

    ck_assert_int_eq(continue_token_parse(continue_token_format(arena, &token), &back), 0);

    ck_assert_int_eq(back.revision, token.revision);
    ck_assert_str_eq(back.after, token.after);
}
END_TEST

START_TEST(a_wrong_token_is_refused)
{
    static const char *const texts[] = {
        "",
        "garbage",
        "3",
        "zz",
        "2d3120",   /* "-1 " */
        "31",       /* "1" */
        "316120",   /* "1a " */
        "31206100", /* a NUL inside */
        "3939393939393939393939393939393939393939393920",
    };
    struct continue_token back;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        ck_assert_msg(continue_token_parse(texts[i], &back) == -EINVAL, "'%s'", texts[i]);
}
END_TEST

SUITE("continue_token", a_token_comes_back_as_it_went, a_wrong_token_is_refused)
