/* SPDX-License-Identifier: Apache-2.0 */
/* The order, the places and the search of a line, compared with plain scans. */
#include "controller/lifecycle/quota/quota_line.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

#define N 300

static struct quota_place places[N];
static char keys[N][8];
static bool is_in[N];
static struct quota_line *line;

static int
compare(const void *a, const void *b)
{
    const struct quota_place *x = &places[*(const int *)a], *y = &places[*(const int *)b];

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->eligible_at_us != y->eligible_at_us)
        return x->eligible_at_us < y->eligible_at_us ? -1 : 1;
    if (x->job_id != y->job_id)
        return x->job_id < y->job_id ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* The indexes of those in the line, in order. */
static int
list(int out[N])
{
    int n = 0;

    for (int i = 0; i < N; i++)
        if (is_in[i])
            out[n++] = i;
    qsort(out, (size_t)n, sizeof(*out), compare);
    return n;
}

static void
check_all(struct random_source *random)
{
    int64_t room[QUOTA_LINE_RESOURCES] = {0};
    int order[N], n = list(order);
    struct quota_place *expected = NULL;

    room[1] = (int64_t)random_below(random, 12);
    room[2] = (int64_t)random_below(random, 12);
    ck_assert_uint_eq(quota_line_count(line), (size_t)n);
    for (int i = n - 1; i >= 0; i--) {
        struct quota_place *p = &places[order[i]];

        ck_assert_uint_eq(quota_line_rank(line, p), (size_t)i);
        if (p->needs[1] <= room[1] && p->needs[2] <= room[2])
            expected = p;
    }
    ck_assert_ptr_eq(quota_line_find_first(line, room), expected);
}

START_TEST(a_line_finds_what_a_scan_finds_while_jobs_come_and_go)
{
    struct random_source random = {7};

    line = quota_line_new();
    for (int i = 0; i < N; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
        places[i] = (struct quota_place){
            .priority = (int64_t)random_below(&random, 3),
            .eligible_at_us = (int64_t)random_below(&random, 5),
            .job_id = (int64_t)random_below(&random, 4),
            .key = keys[i],
            .needs = {0, (int64_t)random_below(&random, 10), (int64_t)random_below(&random, 10)},
        };
    }
    for (int step = 0; step < 3000; step++) {
        int i = (int)random_below(&random, N);

        if (is_in[i])
            quota_line_remove(line, &places[i]);
        else
            quota_line_add(line, &places[i]);
        is_in[i] = !is_in[i];
        if (step % 20 == 0)
            check_all(&random);
    }
    quota_line_free(line);
}
END_TEST

SUITE("quota_line", a_line_finds_what_a_scan_finds_while_jobs_come_and_go)
