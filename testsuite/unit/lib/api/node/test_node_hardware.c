/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/node_hardware.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* The expected hardware (NULL: unknown), and the present capacity. */
static const struct object *
make(const char *expected, const char *capacity)
{
    CLEANUP_FREE char *note = expected == NULL ? xstrdup("")
                                               : xasprintf(",\"annotations\":{\"%s\":\"%s\"}",
                                                           ANNOTATION_EXPECTED_HARDWARE, expected);
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"n1\"%s},\"status\":{\"capacity\":{%s},"
                  "\"topology\":{},\"conditions\":[{\"type\":\"Ready\",\"status\":"
                  "\"True\"}]}}",
                  note, capacity);
    const struct object *node = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(&node_kind, text, strlen(text), &node, &err) == 0, "%s", err.text);
    return node;
}

START_TEST(the_first_capacity_is_learnt_and_a_larger_one_later)
{
    static const struct {
        const char *expected, *capacity, *learnt;
    } cases[] = {
        {NULL,
         "\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\","
         "\"hugepages-2Mi\":\"0\",\"kiln.hpc/gpu\":\"2\"",
         "cpu=8 memory=64Gi kiln.hpc/gpu=2"},
        {"cpu=8 memory=64Gi", "\"cpu\":\"8\",\"memory\":\"64Gi\"", NULL},
        {"cpu=8 memory=64Gi", "\"cpu\":\"16\",\"memory\":\"64Gi\"", "cpu=16 memory=64Gi"},
        {"cpu=8 memory=64Gi", "\"cpu\":\"8\",\"memory\":\"64.1Gi\"", NULL},
        {NULL, "\"memory\":\"62Gi\",\"hugepages-2Mi\":\"1Gi\",\"hugepages-1Gi\":\"1Gi\"",
         "memory=67108864Ki"},
        {"memory=64Gi", "\"memory\":\"32Gi\",\"hugepages-2Mi\":\"32Gi\"", NULL},
        {"cpu=8", "\"cpu\":\"4\"", NULL},
        {"cpu=8", "\"cpu\":\"4\",\"kiln.hpc/gpu\":\"1\"", "cpu=8 kiln.hpc/gpu=1"},
        {"any", "\"cpu\":\"4\"", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct object *node = make(cases[i].expected, cases[i].capacity);
        CLEANUP_FREE char *learnt = node_hardware_learn(node_of(node));

        ck_assert_pstr_eq(learnt, cases[i].learnt);
        object_unref(node);
    }
}
END_TEST

START_TEST(missing_hardware_is_named)
{
    static const struct {
        const char *expected, *capacity, *words;
    } cases[] = {
        {NULL, "\"cpu\":\"4\"", ""},
        {"any", "\"cpu\":\"4\"", ""},
        {"cpu=8 memory=64Gi", "\"cpu\":\"8\",\"memory\":\"63.5Gi\"", ""},
        {"cpu=8 memory=64Gi", "\"cpu\":\"6\",\"memory\":\"32Gi\"",
         "cpu 6 of 8, memory 32Gi of 64Gi"},
        {"memory=64Gi", "\"memory\":\"16Gi\",\"hugepages-2Mi\":\"48Gi\"", ""},
        {"memory=64Gi", "\"memory\":\"16Gi\",\"hugepages-2Mi\":\"32Gi\"",
         "memory 50331648Ki of 64Gi"},
        {"cpu=8 kiln.hpc/gpu=2", "\"cpu\":\"8\"", "kiln.hpc/gpu 0 of 2"},
        {"=4 cpu= nonsense cpu=8", "\"cpu\":\"4\"", "cpu 4 of 8"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct object *node = make(cases[i].expected, cases[i].capacity);
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

        ck_assert_int_eq(node_hardware_is_missing(node_of(node), &words),
                         cases[i].words[0] != '\0');
        ck_assert_str_eq(words.length > 0 ? words.text : "", cases[i].words);
        object_unref(node);
    }
}
END_TEST

SUITE("node_hardware", the_first_capacity_is_learnt_and_a_larger_one_later,
      missing_hardware_is_named)
