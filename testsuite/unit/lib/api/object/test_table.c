/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/table.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define NOW_US 1000000000000

/* The minimal object of a kind. */
static const struct object *
make(const struct kind *kind)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\"},"
        "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}"
        "}}}";
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);
    const struct object *object = NULL;

    ck_assert_int_eq(record_normalize(kind->record, arena, tree, NULL, NULL), 0);
    object = object_new(kind, tree);
    ck_assert_ptr_nonnull(object);
    return object;
}

static void
check_table(const struct kind *kind, const struct table *table)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(object_unrefp) const struct object *object = make(kind);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct table_row row = {
        .object = object,
        .arena = arena,
        .now_us = NOW_US,
        .text = &text,
    };

    if (table->summarize != NULL)
        row.summary = table->summarize(&row);
    for (unsigned i = 0; i < table->n_columns; i++) {
        table->columns[i].cell(&row);
        ck_assert_msg(row.count == i + 1, "%s: the column %s has written %u cells", kind->name,
                      table->columns[i].name, row.count - i);
    }
}

static void
check_kind(const struct kind *kind)
{
    if (kind->table != NULL)
        check_table(kind, kind->table);
    if (kind->kiln_table != NULL)
        check_table(kind, kind->kiln_table);
}

START_TEST(each_column_of_each_kind_writes_one_cell)
{
    for (unsigned i = 0; i < n_kinds; i++)
        check_kind(kinds[i]);
    for (unsigned i = 0; i < n_measured_kinds; i++)
        check_kind(measured_kinds[i]);
}
END_TEST

static void
check_columns(const struct kind *kind, const struct table *table)
{
    for (unsigned i = 0; i < table->n_columns; i++) {
        const struct table_column *c = &table->columns[i];

        ck_assert_msg(c->help != NULL && c->help[0] != '\0', "%s: the column %s is not described",
                      kind->name, c->name);
        for (unsigned j = 0; j < i; j++)
            ck_assert_msg(strcmp(c->name, table->columns[j].name) != 0,
                          "%s: two columns are called %s", kind->name, c->name);
    }
}

START_TEST(columns_have_a_name_of_their_own_and_a_description)
{
    for (unsigned i = 0; i < n_kinds; i++) {
        if (kinds[i]->table != NULL)
            check_columns(kinds[i], kinds[i]->table);
        if (kinds[i]->kiln_table != NULL)
            check_columns(kinds[i], kinds[i]->kiln_table);
    }
}
END_TEST

START_TEST(a_row_is_a_list_of_json)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(object_unrefp) const struct object *object = make(&job_kind);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct table_row row = {
        .object = object,
        .arena = arena,
        .now_us = NOW_US,
        .text = &text,
    };

    strbuf_add_char(&text, '[');
    table_add_cells(job_kind.table, &row);
    strbuf_add_char(&text, ']');

    ck_assert_str_eq(text.text, "[\"a\",\"Running\",\"0/1\",\"\",\"<unknown>\",\"c\",\"\","
                                "\"<none>\"]");
}
END_TEST

/* As k8s.io/apimachinery/pkg/util/duration shortens them. */
START_TEST(durations_have_two_units_while_the_first_is_small)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {-2, "<invalid>"},
        {-1, "0s"},
        {119, "119s"},
        {120, "2m"},
        {150, "2m30s"},
        {600, "10m"},
        {3 * 3600 - 1, "179m"},
        {3 * 3600 + 600, "3h10m"},
        {8 * 3600 + 600, "8h"},
        {49 * 3600, "2d1h"},
        {8 * 86400 + 3600, "8d"},
        {3 * 365 * 86400, "3y"},
        {(3 * 365 + 5) * 86400, "3y5d"},
        {(8 * 365 + 5) * 86400, "8y"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[TABLE_DURATION_SIZE];

        table_format_duration(cases[i].seconds * 1000000, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

SUITE("table", each_column_of_each_kind_writes_one_cell,
      columns_have_a_name_of_their_own_and_a_description, a_row_is_a_list_of_json,
      durations_have_two_units_while_the_first_is_small)
