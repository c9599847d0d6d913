/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_place.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(path)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct krun_place p;

    ck_assert_int_eq(krun_place_parse(arena, "/run/a:1,b,2,c", &p, NULL), 0);
    ck_assert_str_eq(p.socket, "/run/a:1,b,2,c");
    ck_assert_str_eq(krun_place_format(arena, &p), "/run/a:1,b,2,c");
}
END_TEST

START_TEST(agent)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct krun_place p;

    ck_assert_int_eq(krun_place_parse(arena, "n1.site:6822,test,4294967294,/run/munge,x", &p, NULL),
                     0);
    ck_assert_ptr_null(p.socket);
    ck_assert_str_eq(p.node, "n1.site");
    ck_assert_uint_eq(p.port, 6822);
    ck_assert_str_eq(p.cluster, "test");
    ck_assert_uint_eq(p.agent_uid, 4294967294);
    ck_assert_str_eq(p.munge_socket, "/run/munge,x");
    ck_assert_str_eq(krun_place_format(arena, &p), "n1.site:6822,test,4294967294,/run/munge,x");
    ck_assert_int_eq(krun_place_parse(arena, "n1:1,c,0,", &p, NULL), 0);
    ck_assert_ptr_null(p.munge_socket);
    ck_assert_str_eq(krun_place_format(arena, &p), "n1:1,c,0,");
}
END_TEST

START_TEST(neither)
{
    static const char *const texts[] = {
        "",           "n1",        "n1:6822",  ":6822,c,0,", "n1:0,c,0,",          "n1:65536,c,0,",
        "n1:-1,c,0,", "n1:6822,c", "n1:1,,0,", "n1:1,c,,",   "n1:1,c,4294967295,", "n1:1,c,0"};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct krun_place p;
        struct error err = {0};

        ck_assert_msg(krun_place_parse(arena, texts[i], &p, &err) == -EINVAL, "%s", texts[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "KILN_STEP_SOCKET"));
    }
}
END_TEST

SUITE("krun_place", path, agent, neither)
