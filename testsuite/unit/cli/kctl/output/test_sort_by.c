/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/sort_by.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

/* Checks the names of the items in their order. */
static void
is_ordered(const char *answer, const char *path, const char *wanted)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    struct json *list = json_parse(arena, answer, strlen(answer), NULL, NULL);
    struct json *rows = json_get(list, "rows");
    const struct json *items = rows != NULL ? rows : json_get(list, "items");

    ck_assert_int_eq(sort_by_sort(list, path, arena, NULL), 0);
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);

        strbuf_add_text(&names,
                        json_get_text(rows != NULL ? json_get(item, "object") : item, "name"));
    }
    ck_assert_str_eq(names.text, wanted);
}

START_TEST(values_go_by_what_they_mean)
{
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":10},{\"name\":\"b\",\"v\":9},"
               "{\"name\":\"c\"}]}",
               ".v", "cba");
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":\"1Gi\"},"
               "{\"name\":\"b\",\"v\":\"900Mi\"},{\"name\":\"c\",\"v\":\"2\"}]}",
               "{.v}", "cba");
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":\"2024-01-02T00:00:00Z\"},"
               "{\"name\":\"b\",\"v\":\"2023-12-31T23:59:59Z\"}]}",
               "v", "ba");
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":\"n10\"},"
               "{\"name\":\"b\",\"v\":\"n9\"}]}",
               ".v", "ba");
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":true},"
               "{\"name\":\"b\",\"v\":false}]}",
               ".v", "ba");
}
END_TEST

START_TEST(equal_ones_stay_as_they_came)
{
    is_ordered("{\"items\":[{\"name\":\"a\",\"v\":1},{\"name\":\"b\",\"v\":0},"
               "{\"name\":\"c\",\"v\":1},{\"name\":\"d\",\"v\":0}]}",
               ".v", "bdac");
}
END_TEST

START_TEST(rows_go_by_their_objects)
{
    is_ordered("{\"rows\":[{\"object\":{\"name\":\"a\",\"v\":2}},"
               "{\"object\":{\"name\":\"b\",\"v\":1}}]}",
               ".v", "ba");
}
END_TEST

START_TEST(a_wrong_path_is_refused)
{
    struct error err = {0};

    ck_assert_int_eq(sort_by_check(".metadata.name", &err), 0);
    ck_assert_int_lt(sort_by_check(".a[", &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "--sort-by"));
}
END_TEST

SUITE("sort_by", values_go_by_what_they_mean, equal_ones_stay_as_they_came,
      rows_go_by_their_objects, a_wrong_path_is_refused)
