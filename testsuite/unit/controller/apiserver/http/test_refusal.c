/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/refusal.h"

#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static const struct {
    int status;
    const char *reason;
} cases[] = {
    {400, "BadRequest"},
    {413, "RequestEntityTooLarge"},
    {501, NULL},
    {503, "ServiceUnavailable"},
};

START_TEST(a_refusal_is_a_status_with_its_code_and_reason)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const char *type = refusal_word(cases[i].status, "why", &text, NULL);
        const struct json *s = json_parse(arena, text.text, text.length, NULL, NULL);

        ck_assert_str_eq(type, "application/json");
        ck_assert_str_eq(json_get_text(s, "kind"), "Status");
        ck_assert_str_eq(json_get_text(s, "status"), "Failure");
        ck_assert_str_eq(json_get_text(s, "message"), "why");
        ck_assert_int_eq(json_get_int(s, "code", 0), cases[i].status);
        ck_assert_pstr_eq(json_get_text(s, "reason"), cases[i].reason);
    }
}
END_TEST

START_TEST(one_for_lack_of_room_says_when_to_come_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct json *s;

    refusal_word(503, "why", &text, NULL);
    s = json_parse(arena, text.text, text.length, NULL, NULL);

    ck_assert_int_eq(json_get_int(json_get(s, "details"), "retryAfterSeconds", 0), 1);
}
END_TEST

SUITE("refusal", a_refusal_is_a_status_with_its_code_and_reason,
      one_for_lack_of_room_says_when_to_come_back)
