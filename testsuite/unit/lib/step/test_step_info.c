/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_info.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_layout.h"
#include "testsuite/lib/suite.h"

START_TEST(an_encoded_answer_is_read_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *nodes[] = {"n1", "n2"};
    const struct step_info info = {
        .cluster = "c",
        .group = "default/g",
        .nodes = {nodes, 2},
        .port = 6822,
        .agent_uid = 17,
        .place = {.name = "n1", .cpus = "0-3,8", .gpus = 2, .memory_bytes = 1 << 20},
    };
    struct step_info back;

    step_info_encode(&info, &text);
    ck_assert_int_eq(step_info_decode(arena, text.text, text.length, &back, NULL), 0);
    ck_assert_str_eq(back.group, "default/g");
    ck_assert_uint_eq(back.nodes.count, 2);
    ck_assert_str_eq(back.nodes.items[1], "n2");
    ck_assert_int_eq(back.port, 6822);
    ck_assert_int_eq(back.agent_uid, 17);
    ck_assert_ptr_null(back.munge_socket);
    ck_assert_str_eq(back.place.cpus, "0-3,8");
}
END_TEST

START_TEST(places_are_read_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct step_info_place places[] = {{"n1", "0-3", 0, 0}, {"n2", "4", 3, 5}};
    struct step_place *back;
    unsigned n;

    step_places_encode(places, 2, &text);
    ck_assert_int_eq(step_places_decode(arena, text.text, text.length, &back, &n, NULL), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_uint_eq(bitset_count(&back[0].cpus), 4);
    ck_assert_str_eq(back[1].name, "n2");
    ck_assert_uint_eq(back[1].gpus, 3);
    ck_assert_int_eq(back[1].memory_bytes, 5);
    ck_assert(bitset_is_empty(&back[1].busy));
}
END_TEST

START_TEST(a_number_out_of_range_is_refused)
{
    static const char *const infos[] = {"{\"port\":65536}", "{\"agentUID\":-1}", "[]", "{"};
    static const char *const places[] = {
        "{}",
        "{\"places\":[{\"name\":\"n\"}]}",
        "{\"places\":[{\"name\":\"\",\"cpus\":\"0\"}]}",
        "{\"places\":[{\"name\":\"n\",\"cpus\":\"x\"}]}",
        "{\"places\":[{\"name\":\"n\",\"cpus\":\"0\",\"gpus\":-1}]}",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_place *back;
    struct step_info info;
    unsigned n;

    for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
        ck_assert_int_eq(step_info_decode(arena, infos[i], strlen(infos[i]), &info, NULL),
                         -EBADMSG);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        ck_assert_int_eq(step_places_decode(arena, places[i], strlen(places[i]), &back, &n, NULL),
                         -EBADMSG);
}
END_TEST

/* A grant of a user names more tasks, or nodes, than a step may have. */
START_TEST(a_short_grant_does_not_take_much_memory)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    struct step_grant grant;

    strbuf_add_text(&tasks, "{\"nodes\":[");
    strbuf_add_text(&nodes, "{\"nodes\":[");
    for (int i = 0; i < 3; i++)
        strbuf_printf(&tasks, "%s{\"name\":\"n\",\"tasks\":\"0-30000\"}", i > 0 ? "," : "");
    for (int i = 0; i < 513; i++)
        strbuf_printf(&nodes, "%s{\"name\":\"n\"}", i > 0 ? "," : "");
    strbuf_add_text(&tasks, "]}");
    strbuf_add_text(&nodes, "]}");
    ck_assert_int_eq(step_grant_decode(arena, tasks.text, tasks.length, &grant, NULL), -EBADMSG);
    ck_assert_int_eq(step_grant_decode(arena, nodes.text, nodes.length, &grant, NULL), -EBADMSG);
}
END_TEST

SUITE("step_info", an_encoded_answer_is_read_back, places_are_read_back,
      a_number_out_of_range_is_refused, a_short_grant_does_not_take_much_memory)
