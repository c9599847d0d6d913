/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/node_chart.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/print/node_chart_svg.h"
#include "cli/print/node_chart_text.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define MINUTE INT64_C(60000000)
#define NOW    (INT64_C(1704103200) * 1000000) /* 2024-01-01T10:00:00Z */

static struct node_chart_bar
bar(const char *label, const char *user, int from, int until, int cpus)
{
    return (struct node_chart_bar){
        .label = label,
        .detail = label,
        .user = user,
        .from_us = NOW + from * MINUTE,
        .until_us = until > 0 ? NOW + until * MINUTE : INT64_MAX,
        .cpu_milli = cpus * 1000,
    };
}

static struct node_chart
chart_of(struct node_chart_row *row, struct arena *arena)
{
    struct node_chart chart = {
        .rows = row,
        .n_rows = 1,
        .from_us = NOW,
        .until_us = NOW + 60 * MINUTE,
        .now_us = NOW,
    };

    setenv("TZ", "UTC", 1);
    tzset();
    node_chart_lay_out(&chart, arena);
    return chart;
}

START_TEST(bars_that_overlap_have_lanes_of_their_own)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct node_chart_bar bars[] = {
        bar("3", "a", 30, 50, 4),
        bar("1", "a", 0, 30, 2),
        bar("2", "b", 0, 40, 2),
    };
    struct node_chart_row row = {.name = "n1", .cpu_milli = 8000, .bars = bars, .n_bars = 3};

    chart_of(&row, arena);

    ck_assert_uint_eq(row.n_lanes, 2);
    ck_assert_str_eq(bars[2].label, "3");
    ck_assert_uint_eq(bars[2].lane, 0);
    ck_assert_uint_ne(bars[0].lane, bars[1].lane);
    ck_assert_int_eq(bars[1].above_milli, 2000);
    ck_assert_int_eq(bars[2].above_milli, 4000);
}
END_TEST

START_TEST(a_bar_that_does_not_fit_beside_the_others_stays_within_its_node)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct node_chart_bar bars[] = {
        bar("1", "a", 0, 0, 3),
        bar("2", "b", 0, 0, 3),
    };
    struct node_chart_row row = {.name = "n1", .cpu_milli = 4000, .bars = bars, .n_bars = 2};

    chart_of(&row, arena);

    ck_assert_int_eq(bars[0].above_milli, 0);
    ck_assert_int_eq(bars[1].above_milli, 1000);
}
END_TEST

START_TEST(two_users_have_two_colours_as_long_as_there_are_some)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct node_chart_bar bars[] = {
        bar("1", "ada", 0, 5, 1),
        bar("2", "bob", 0, 5, 1),
        bar("3", "eve", 0, 5, 1),
        bar("4", "ada", 0, 5, 1),
    };
    struct node_chart_row row = {.name = "n1", .bars = bars, .n_bars = 4};
    struct node_chart chart = chart_of(&row, arena);
    unsigned a = node_chart_colour(&chart, "ada", 3);
    unsigned b = node_chart_colour(&chart, "bob", 3);
    unsigned e = node_chart_colour(&chart, "eve", 3);

    ck_assert_uint_eq(chart.n_users, 3);
    ck_assert_uint_eq(a + b + e, 3);
    ck_assert(a != b && b != e);
    ck_assert_uint_lt(node_chart_colour(&chart, "eve", 2), 2);
}
END_TEST

START_TEST(marks_are_round_times_where_the_reader_is)
{
    struct node_chart chart = {.from_us = NOW + 7 * MINUTE, .until_us = NOW + 67 * MINUTE};
    int64_t step = node_chart_step_us(&chart, 8);
    char text[NODE_CHART_TIME_SIZE];

    setenv("TZ", "UTC-5:30", 1);
    tzset();
    ck_assert_int_eq(step, 10 * MINUTE);
    node_chart_format_time(node_chart_first_us(&chart, step), text);
    ck_assert_str_eq(text, "15:40");
    chart.until_us = chart.from_us + 3000 * 1440 * MINUTE;
    ck_assert_int_gt(node_chart_step_us(&chart, 8), 7 * 1440 * MINUTE);
    ck_assert_int_gt(node_chart_step_us(&chart, 0), 0);
}
END_TEST

START_TEST(cells_show_bars_labels_and_what_has_no_end)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct node_chart_bar bars[] = {
        bar("1 ada", "ada", 0, 30, 4),
        bar("2 \xe6\x9d\xb1\xe4\xba\xac\xe6\x9d\xb1\xe4\xba\xac", "x", 40, 46, 4),
        bar("3 bob", "bob", 5, 0, 0),
    };
    struct node_chart_row row = {.name = "n1", .cpu_milli = 4000, .bars = bars, .n_bars = 3};
    struct node_chart chart;

    bars[1].kind = CHART_PLANNED;
    chart = chart_of(&row, arena);
    node_chart_text_print(&chart, &(struct node_chart_style){.width = 72, .is_ascii = true}, &out);

    ck_assert_ptr_nonnull(strstr(out.text, "\nn1     4/4  [1 ada ======================]"
                                           ".         (2 \xe6\x9d\xb1)"));
    ck_assert_ptr_nonnull(strstr(out.text, "[3 bob ="));
    ck_assert_ptr_nonnull(strstr(out.text, "=>\n"));
    ck_assert_ptr_null(strchr(out.text, '\033'));
}
END_TEST

START_TEST(cpus_that_one_has_lent_count_once_and_with_those_left)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct node_chart_bar bars[] = {
        bar("1 ada", "ada", 0, 0, 4),
        bar("2 bob", "bob", 0, 30, 2),
    };
    struct node_chart_row row = {
        .name = "n1", .cpu_milli = 4000, .kept_milli = 1000, .bars = bars, .n_bars = 2};
    struct node_chart chart;

    bars[0].has_lent = true;
    chart = chart_of(&row, arena);
    node_chart_text_print(&chart, &(struct node_chart_style){.width = 72, .is_ascii = true}, &out);

    ck_assert_ptr_nonnull(strstr(out.text, "\nn1     3/4  ["));
    ck_assert_ptr_nonnull(strstr(out.text, "[1 ada ="));
}
END_TEST

START_TEST(names_cannot_break_a_picture)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct node_chart_bar bars[] = {
        bar("1 <a>&\"\033\xef\xbf\xbf", "u<", 0, 50, 4),
        bar("2", "", 0, 50, 0),
    };
    struct node_chart_row row = {
        .name = "<n>", .state = "Down: </svg>", .bars = bars, .n_bars = 2, .n_more = 3};
    struct node_chart chart = chart_of(&row, arena);

    node_chart_svg_print(&chart, "a < b", &out);

    ck_assert_ptr_nonnull(strstr(out.text, ">1 &lt;a&gt;&amp;&quot;?\?</text>"));
    ck_assert_ptr_nonnull(strstr(out.text, ">Down: &lt;/svg&gt;</text>"));
    ck_assert_ptr_nonnull(strstr(out.text, ">a &lt; b</text>"));
    ck_assert_ptr_eq(strstr(out.text, "</svg>"), out.text + out.length - strlen("</svg>\n"));
    ck_assert_ptr_null(strstr(out.text, "nan"));
    ck_assert_ptr_null(strstr(out.text, "inf"));
}
END_TEST

SUITE("node_chart", bars_that_overlap_have_lanes_of_their_own,
      a_bar_that_does_not_fit_beside_the_others_stays_within_its_node,
      two_users_have_two_colours_as_long_as_there_are_some,
      marks_are_round_times_where_the_reader_is, cells_show_bars_labels_and_what_has_no_end,
      cpus_that_one_has_lent_count_once_and_with_those_left, names_cannot_break_a_picture)
