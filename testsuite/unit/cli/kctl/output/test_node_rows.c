/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/node_rows.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static void
print(const char *text, bool groups, unsigned width, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *nodes = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(nodes);
    node_rows_print(nodes, &(struct node_rows_style){.groups = groups, .width = width}, out);
}

#define NODE(name, state, used)                                      \
    "{\"name\":\"" name "\",\"state\":\"" state "\",\"cpus\":8,"     \
    "\"cpusUsed\":" #used ",\"memory\":1073741824,\"memoryUsed\":0," \
    "\"pods\":1}"

START_TEST(nodes_that_are_alike_are_one_line)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    print(
        "[" NODE("n10", "Idle", 0) "," NODE("n2", "Idle", 0) "," NODE("n1", "Idle", 0) "," NODE(
            "n3", "Idle", 0) "," NODE("m7", "Idle", 0) "," NODE("head", "Mixed",
                                                                3) "," NODE("n04", "Mixed", 8) "]",
        true, 0, &out);

    ck_assert_str_eq(out.text, "PARTITION  STATE  NODES  CPUS FREE  MEMORY FREE  NAMES         "
                               "REASON\n"
                               "-          Idle       5      40/40      5Gi/5Gi  m7,n[1-3,10]\n"
                               "-          Mixed      2       5/16      2Gi/2Gi  head,n04\n");
}
END_TEST

START_TEST(free_resources_of_a_closed_node_are_nobodys)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    print("[{\"name\":\"n1\",\"state\":\"Drained\",\"cpus\":8,\"memory\":0,"
          "\"reason\":\"new fan\",\"by\":\"root\"}]",
          false, 0, &out);

    ck_assert_str_eq(out.text, "PARTITION  STATE    NODE  CPUS FREE  MEMORY FREE  PODS  REASON\n"
                               "-          Drained  n1          0/8         0/0B     0  new fan "
                               "(root)\n");
}
END_TEST

START_TEST(a_narrow_terminal_keeps_name_and_state)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    print("[" NODE("n1", "Idle", 0) "]", false, 20, &out);

    ck_assert_ptr_nonnull(strstr(out.text, "Idle"));
    ck_assert_ptr_nonnull(strstr(out.text, "n1"));
    ck_assert_uint_le(strcspn(out.text, "\n"), 20);
}
END_TEST

SUITE("node_rows", nodes_that_are_alike_are_one_line, free_resources_of_a_closed_node_are_nobodys,
      a_narrow_terminal_keeps_name_and_state)
