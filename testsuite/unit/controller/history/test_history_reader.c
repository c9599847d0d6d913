/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_reader.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

static uint64_t
member(const char *name)
{
    return UINT64_C(1) << (record_find(&history_row_record, name) - history_row_record.fields);
}

/* Returns the text of the first item. */
static char *
ask_for_text(struct place *p, const struct history_question *q)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(json_at(ask(p, q, NULL), 0), &text);
    return strbuf_take(&text);
}

static char *
text_of(struct place *p, const struct history_row *row)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(record_encode(&history_row_record, p->arena, row), &text);
    return strbuf_take(&text);
}

/* Gives a value to each member that has none, also to those that are added later, but
 * `lost`, which no row has that was just added, and `member`, for rows of which an attempt's
 * row is the sum.
 */
static void
fill_rest(struct place *p, struct history_row *row)
{
    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct field *field = &history_row_record.fields[i];
        void *member = (char *)row + field->offset;
        const int64_t number = 1000 + i;

        if (strcmp(field->name, "lost") == 0 || strcmp(field->name, "member") == 0)
            continue;
        if (field->type == FIELD_BOOL)
            *(bool *)member = true;
        else if (field->type == FIELD_TIME && *(int64_t *)member == 0)
            *(int64_t *)member = NOON + i * 1000000;
        else if (field->type == FIELD_STRING && *(const char **)member == NULL)
            *(const char **)member = arena_printf(p->arena, "text %u", i);
        else if (field->type == FIELD_STRING || field->type == FIELD_TIME)
            continue;
        else if ((field->flags & FIELD_OPTIONAL) == 0 && *(int64_t *)member == 0)
            *(int64_t *)member = number;
        else if ((field->flags & FIELD_OPTIONAL) != 0 && *(const int64_t **)member == NULL)
            *(const int64_t **)member = arena_memdup(p->arena, &number, sizeof(number));
    }
}

/* The bit of a member, which is its place in the record, gives that member. */
static void
check_each_member(struct place *p)
{
    struct history_question q = everything;

    for (size_t i = 0; i < history_row_record.n_fields; i++) {
        const char *name = history_row_record.fields[i].name;
        CLEANUP_FREE char *head = xasprintf("{\"%s\":", name);
        CLEANUP_FREE char *text = NULL;

        if (strcmp(name, "lost") == 0 || strcmp(name, "member") == 0)
            continue;
        q.members = UINT64_C(1) << i;
        text = ask_for_text(p, &q);
        ck_assert_msg(strncmp(text, head, strlen(head)) == 0, "asked for '%s', got %s", name, text);
    }
}

START_TEST(a_row_is_printed_as_its_record_is)
{
    static const int64_t index = 3, task = 22, code = 137, none = 0;
    CLEANUP_FREE char *expected = NULL;
    CLEANUP_FREE char *text = NULL;
    struct history_row row;
    struct place p;

    place_init(&p);
    row = row_of(&p, 7);
    row.user = "al\"ice";
    row.partition = "gpu";
    row.index = &index;
    row.task = &task;
    row.tasks = "9-12";
    row.nodes = 2;
    row.attempt = 2;
    row.frozen_us = 1500000;
    row.memory_bytes = INT64_C(4) << 40;
    row.devices = "nvidia.com/gpu=2";
    row.rss_bytes = &none;
    row.read_bytes = &none;
    row.exit_code = &code;
    row.signal = 9;
    row.ended_by = "bob";
    row.reason = "TimeLimit";
    row.message = "a\nline \xc3\xa4\\";
    fill_rest(&p, &row);
    ck_assert_int_eq(add(&p, &row, 107), 1);
    row.id = 1;

    expected = text_of(&p, &row);
    text = ask_for_text(&p, &everything);

    ck_assert_str_eq(text, expected);
    check_each_member(&p);
    place_fini(&p);
}
END_TEST

START_TEST(a_row_that_knows_little_says_little)
{
    CLEANUP_FREE char *expected = NULL;
    CLEANUP_FREE char *text = NULL;
    struct place p;
    struct history_row row = {
        .user = "",
        .uid = -1,
        .account = "chem",
        .object = "lone",
        .name = "lone",
        .pod = "lone",
        .pod_uid = "no-uuid",
        .end_at_us = 1000000,
        .state = "Cancelled",
    };

    place_init(&p);
    ck_assert_int_eq(add(&p, &row, 107), 1);
    row.id = 1;

    expected = text_of(&p, &row);
    text = ask_for_text(&p, &everything);

    ck_assert_str_eq(text, expected);
    place_fini(&p);
}
END_TEST

START_TEST(a_row_has_the_members_that_are_asked_for_and_no_more)
{
    struct history_question q = everything;
    CLEANUP_FREE char *text = NULL;
    struct history_row row;
    struct place p;

    place_init(&p);
    row = row_of(&p, 7);
    ck_assert_int_eq(add(&p, &row, 107), 1);
    q.members = member("job") | member("pod") | member("endTime");
    q.name = "swee*";

    text = ask_for_text(&p, &q);

    ck_assert_str_eq(text, "{\"job\":7,\"pod\":\"job-7-0\","
                           "\"endTime\":\"2024-10-04T12:00:07Z\"}");
    place_fini(&p);
}
END_TEST

/* ---- Months ---- */

/* One job per day, for four years. */
static void
fill_days(struct place *p)
{
    place_init(p);
    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    for (int64_t n = 1; n <= 1461; n++) {
        struct history_row row = row_of(p, n);

        row.end_at_us = NOON + n * DAY_US;
        row.start_at_us = row.end_at_us - 1000000;
        row.user = n % 2 == 0 ? "alice" : "bob";
        ck_assert_int_eq(history_file_add(p->file, &row, NULL), 1);
    }
    ck_assert_int_eq(history_file_commit(p->file, 2000, NULL), 0);
}

static int64_t
count_ended(struct place *p, const struct history_question *q)
{
    const struct json *items = ask(p, q, NULL);
    int64_t ended = 0;

    for (uint32_t i = 0; i < json_count(items); i++)
        ended += json_get_int(json_at(items, i), "ended", 0);
    return ended;
}

START_TEST(sums_are_the_same_whether_they_come_from_months_or_from_days)
{
    static const int64_t spans[][2] = {
        {20001, 21461}, /* the whole file */
        {20010, 20020}, /* within a month */
        {20020, 20045}, /* over the end of a month */
        {20020, 20100}, /* with whole months between */
        {20028, 20058}, /* from the 1st of November to the 1st of December */
        {20001, 20001}, /* an empty period */
    };
    struct history_question q = everything;
    struct place p;

    fill_days(&p);
    for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
        q.since_s = spans[i][0] * 86400;
        q.until_s = spans[i][1] * 86400;
        for (enum history_sum by = HISTORY_BY_ALL; by <= HISTORY_BY_ACCOUNT_USER; by++) {
            q.by = by;
            ck_assert_int_eq(count_ended(&p, &q), spans[i][1] - spans[i][0]);
        }
    }
    q.since_s = q.until_s = 0;
    q.by = HISTORY_BY_MONTH;
    ck_assert_int_eq(count_ended(&p, &q), 1461);
    q.user = "bob";
    ck_assert_int_eq(count_ended(&p, &q), 731);
    place_fini(&p);
}
END_TEST

START_TEST(months_are_named_and_come_in_their_order)
{
    struct history_question q = everything;
    const struct json *items;
    struct place p;

    fill_days(&p);
    q.by = HISTORY_BY_MONTH;
    q.since_s = INT64_C(20070) * 86400; /* 13 December 2024 */
    q.until_s = INT64_C(20130) * 86400; /* 11 February 2025 */

    items = ask(&p, &q, NULL);

    ck_assert_uint_eq(json_count(items), 3);
    ck_assert_str_eq(json_get_text(json_at(items, 0), "month"), "2024-12");
    ck_assert_int_eq(json_get_int(json_at(items, 0), "ended", 0), 19);
    ck_assert_str_eq(json_get_text(json_at(items, 1), "month"), "2025-01");
    ck_assert_int_eq(json_get_int(json_at(items, 1), "ended", 0), 31);
    ck_assert_str_eq(json_get_text(json_at(items, 2), "month"), "2025-02");
    ck_assert_int_eq(json_get_int(json_at(items, 2), "ended", 0), 10);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_of_before_months_gets_their_sums)
{
    struct history_question q = everything;
    struct place p;

    fill_days(&p);
    place_make_old(&p, 3);

    ck_assert_int_eq(open_as(&p, "us", 5000, ""), 0);

    q.by = HISTORY_BY_MONTH;
    ck_assert_uint_eq(json_count(ask(&p, &q, NULL)), 49);
    ck_assert_int_eq(count_ended(&p, &q), 1461);
    place_fini(&p);
}
END_TEST

SUITE("history_reader", a_row_is_printed_as_its_record_is, a_row_that_knows_little_says_little,
      a_row_has_the_members_that_are_asked_for_and_no_more,
      sums_are_the_same_whether_they_come_from_months_or_from_days,
      months_are_named_and_come_in_their_order, a_file_of_before_months_gets_their_sums)
