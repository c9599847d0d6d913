/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/efficiency_sum.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

/* A task that ran for 10 s on one CPU. */
static void
add_task(struct efficiency_sum *sum, int index, int used_s, const char *state, int memory_gi)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = arena_printf(
        arena,
        "{\"job\":7,\"name\":\"sweep\",\"user\":\"ann\",\"namespace\":\"lab\",\"index\":%d,"
        "\"task\":%d,\"attempt\":1,\"state\":\"%s\",\"cpuMillis\":1000,"
        "\"startTime\":\"2026-11-20T10:00:00Z\",\"endTime\":\"2026-11-20T10:00:10Z\","
        "\"cpuTimeMicros\":%d,\"peakMemoryBytes\":%lld,\"memoryBytes\":%lld}",
        index, index, state, used_s * 1000000, (long long)memory_gi << 29,
        (long long)memory_gi << 30);

    efficiency_sum_add(sum, json_parse(arena, text, strlen(text), NULL, NULL));
}

static int64_t
index_of(const struct json *row)
{
    return json_get_int(row, "index", -1);
}

START_TEST(the_tasks_that_wasted_most_are_kept_worst_first)
{
    CLEANUP(efficiency_sum_freep) struct efficiency_sum *sum = efficiency_sum_new();
    const struct json *worst[EFFICIENCY_WORST];

    /* Task i uses (i * 7) % 10 of its 10 s: all values, ten times. */
    for (int i = 0; i < 100; i++)
        add_task(sum, i, i * 7 % 10, "Completed", 1);

    ck_assert_uint_eq(efficiency_sum_worst(sum, worst), EFFICIENCY_WORST);
    for (int i = 0; i < EFFICIENCY_WORST; i++)
        ck_assert_int_eq(index_of(worst[i]), i * 10); /* those that used nothing, in order */
    ck_assert_int_eq(efficiency_sum_attempts(sum), 100);
}
END_TEST

START_TEST(an_array_is_described_by_its_sums_and_extremes)
{
    static const char never[] = "{\"job\":7,\"tasks\":\"10-19\",\"state\":\"Cancelled\"}";
    static const char *const lines[] = {
        "Array:              7 (sweep)\n",
        "Tasks:              3 ran, 10 never started\n",
        "Attempts:           4: 3 Completed, 1 Failed\n",
        "CPUs:               1 for each task\n",
        "Elapsed:            00:00:10 on average, from 00:00:10 to 00:00:10\n",
        "CPU efficiency:     40.00% (00:00:16 of 00:00:40), from 10.00% to 90.00%\n",
        "Memory used:        at most 2Gi\n",
        "Memory efficiency:  50.00% on average, of at most 4Gi\n",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(efficiency_sum_freep) struct efficiency_sum *sum = efficiency_sum_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;

    add_task(sum, 1, 1, "Completed", 1);
    add_task(sum, 2, 3, "Failed", 2);
    add_task(sum, 2, 3, "Completed", 4); /* its second attempt */
    add_task(sum, 3, 9, "Completed", 1);
    efficiency_sum_add(sum, json_parse(arena, never, strlen(never), NULL, NULL));
    efficiency_sum_describe(sum, false, &out);
    efficiency_sum_add_line(sum, &line);

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        ck_assert_msg(strstr(out.text, lines[i]) != NULL, "%s: %s", lines[i], out.text);
    ck_assert_str_eq(line.text, "\nSum: 3 tasks, 4 attempts; CPU efficiency 40.00% (00:00:16 of "
                                "00:00:40); memory efficiency 50.00% (at most 2Gi, asked for "
                                "4Gi)\n");
}
END_TEST

START_TEST(a_job_that_never_ran_wastes_nothing)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(efficiency_sum_freep) struct efficiency_sum *sum = efficiency_sum_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct json *worst[EFFICIENCY_WORST];
    static const char never[] = "{\"job\":7,\"tasks\":\"1-1000000\",\"state\":\"Cancelled\"}";
    const struct json *row = json_parse(arena, never, strlen(never), NULL, NULL);

    efficiency_sum_add(sum, row);
    ck_assert_ptr_nonnull(efficiency_sum_only(sum));
    ck_assert_uint_eq(efficiency_sum_worst(sum, worst), 0);
    ck_assert(efficiency_sum_waste(row) < 0);
    efficiency_sum_describe(sum, false, &out);
    ck_assert_ptr_nonnull(strstr(out.text, "0 ran, 1000000 never started"));
    ck_assert_ptr_null(strstr(out.text, "CPU efficiency"));
}
END_TEST

SUITE("efficiency_sum", the_tasks_that_wasted_most_are_kept_worst_first,
      an_array_is_described_by_its_sums_and_extremes, a_job_that_never_ran_wastes_nothing)
