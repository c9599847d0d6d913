/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/metric.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/apart.h"
#include "testsuite/lib/suite.h"

static void
check_text(struct metric_registry *registry, const char *expected)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    metric_format(registry, &text);
    ck_assert_str_eq(text.text, expected);
}

START_TEST(a_counter_is_written_with_help_and_type)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    struct metric_family *f = metric_counter(r, "jobs_total", "Jobs seen.", NULL);
    struct metric *jobs = metric_series(f);

    metric_count(jobs, 1);
    metric_count(jobs, 41);

    check_text(r, "# HELP jobs_total Jobs seen.\n"
                  "# TYPE jobs_total counter\n"
                  "jobs_total 42\n");
}
END_TEST

START_TEST(families_and_series_come_in_order_whatever_made_them_first)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    struct metric_family *z = metric_gauge(r, "z", "Z.", NULL);
    struct metric_family *a = metric_counter(r, "a_total", "A.", "result,profile");

    metric_set(metric_series(z), -1.5);
    metric_count(metric_series(a, "failure", "default"), 1);
    metric_count(metric_series(a, "error", "x"), 2);
    metric_count(metric_series(a, "error", "default"), 3);

    check_text(r, "# HELP a_total A.\n"
                  "# TYPE a_total counter\n"
                  "a_total{result=\"error\",profile=\"default\"} 3\n"
                  "a_total{result=\"error\",profile=\"x\"} 2\n"
                  "a_total{result=\"failure\",profile=\"default\"} 1\n"
                  "# HELP z Z.\n"
                  "# TYPE z gauge\n"
                  "z -1.5\n");
}
END_TEST

START_TEST(the_same_labels_are_the_same_series)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    struct metric_family *f = metric_gauge(r, "pods", "Pods.", "queue");

    ck_assert_ptr_eq(metric_series(f, "active"), metric_series(f, "active"));
    ck_assert_ptr_ne(metric_series(f, "active"), metric_series(f, "backoff"));
    ck_assert_ptr_eq(metric_gauge(r, "pods", "Pods.", "queue"), f);
}
END_TEST

START_TEST(help_and_label_values_are_escaped)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    struct metric_family *f = metric_gauge(r, "x", "a\\b\n\"c\"", "l");

    metric_set(metric_series(f, "a\\b\n\"c\""), 1);

    check_text(r, "# HELP x a\\\\b\\n\"c\"\n"
                  "# TYPE x gauge\n"
                  "x{l=\"a\\\\b\\n\\\"c\\\"\"} 1\n");
}
END_TEST

START_TEST(a_histogram_sums_its_buckets_upward)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    static const double bounds[] = {0.1, 1, 10};
    struct metric *latency =
        metric_series(metric_histogram(r, "latency_seconds", "L.", "verb", bounds, 3), "get");
    static const double seen[] = {0.05, 0.1, 0.5, 10, 11, 1000};

    for (size_t i = 0; i < 6; i++)
        metric_observe(latency, seen[i]);

    check_text(r, "# HELP latency_seconds L.\n"
                  "# TYPE latency_seconds histogram\n"
                  "latency_seconds_bucket{verb=\"get\",le=\"0.1\"} 2\n"
                  "latency_seconds_bucket{verb=\"get\",le=\"1\"} 3\n"
                  "latency_seconds_bucket{verb=\"get\",le=\"10\"} 4\n"
                  "latency_seconds_bucket{verb=\"get\",le=\"+Inf\"} 6\n"
                  "latency_seconds_sum{verb=\"get\"} 1021.65\n"
                  "latency_seconds_count{verb=\"get\"} 6\n");
}
END_TEST

START_TEST(exponential_bounds_grow_by_their_factor)
{
    double bounds[4];

    metric_exponential_bounds(0.001, 2, bounds, 4);

    ck_assert_double_eq_tol(bounds[0], 0.001, 1e-12);
    ck_assert_double_eq_tol(bounds[3], 0.008, 1e-12);
}
END_TEST

static double
read_number(void *context)
{
    return *(double *)context;
}

START_TEST(a_gauge_may_be_asked_when_somebody_looks)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    struct metric *m = metric_series(metric_gauge(r, "x", "X.", NULL));
    double number = 1;

    metric_read(m, read_number, &number);
    number = 7;

    check_text(r, "# HELP x X.\n# TYPE x gauge\nx 7\n");
}
END_TEST

START_TEST(numbers_are_written_so_that_they_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "x 0\n"},
        {0.1, "x 0.1\n"},
        {1.0 / 3, "x 0.3333333333333333\n"},
        {1e21, "x 1e+21\n"},
        {123456789012345, "x 123456789012345\n"},
        {HUGE_VAL, "x +Inf\n"},
        {-HUGE_VAL, "x -Inf\n"},
        {(double)NAN, "x NaN\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(metric_registry_freep)
        struct metric_registry *r = metric_registry_new();
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        metric_set(metric_series(metric_gauge(r, "x", "X.", NULL)), cases[i].value);
        metric_format(r, &text);
        ck_assert_ptr_nonnull(strstr(text.text, cases[i].text));
    }
}
END_TEST

START_TEST(a_family_nobody_uses_is_not_written)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();

    metric_counter(r, "x_total", "X.", "l");

    check_text(r, "");
}
END_TEST

struct updates {
    struct metric *counter;
    struct metric *gauge;
    struct metric *histogram;
};

static void *
update(void *context)
{
    struct updates *u = context;

    for (int i = 0; i < 10000; i++) {
        metric_count(u->counter, 1);
        metric_add(u->gauge, 1);
        metric_observe(u->histogram, i % 2);
    }
    return NULL;
}

START_TEST(no_update_is_lost_between_threads)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *r = metric_registry_new();
    static const double bounds[] = {0.5};
    struct updates u = {
        metric_series(metric_counter(r, "c", "C.", NULL)),
        metric_series(metric_gauge(r, "g", "G.", NULL)),
        metric_series(metric_histogram(r, "h", "H.", NULL, bounds, 1)),
    };
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, update, &u);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);

    check_text(r, "# HELP c C.\n"
                  "# TYPE c counter\n"
                  "c 40000\n"
                  "# HELP g G.\n"
                  "# TYPE g gauge\n"
                  "g 40000\n"
                  "# HELP h H.\n"
                  "# TYPE h histogram\n"
                  "h_bucket{le=\"0.5\"} 20000\n"
                  "h_bucket{le=\"+Inf\"} 40000\n"
                  "h_sum 20000\n"
                  "h_count 40000\n");
}
END_TEST

static void
register_a_bad_name(UNUSED const void *context)
{
    metric_gauge(metric_registry_new(), "bad-name", "X.", NULL);
}

static void
register_two_types(UNUSED const void *context)
{
    struct metric_registry *r = metric_registry_new();

    metric_gauge(r, "x", "X.", NULL);
    metric_counter(r, "x", "X.", NULL);
}

static void
give_too_few_labels(UNUSED const void *context)
{
    metric_series(metric_gauge(metric_registry_new(), "x", "X.", "a,b"), "1");
}

static void
give_too_many_labels(UNUSED const void *context)
{
    metric_series(metric_gauge(metric_registry_new(), "x", "X.", "a"), "1", "2");
}

START_TEST(mistakes_of_the_program_abort)
{
    static const struct {
        apart_fn mistake;
        const char *words;
    } cases[] = {
        {register_a_bad_name, "metric 'bad-name': not the name of a metric\n"},
        {register_two_types, "metric 'x': registered as two types\n"},
        {give_too_few_labels, "metric 'x': other labels than at its registration\n"},
        {give_too_many_labels, "metric 'x': other labels than at its registration\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct apart run;

        apart(&run, cases[i].mistake, NULL);
        ck_assert_int_eq(run.status, -SIGABRT);
        ck_assert_str_eq(run.text, cases[i].words);
    }
}
END_TEST

START_TEST(the_totals_of_a_histogram_are_those_of_all_its_series)
{
    static const double bounds[] = {1, 2};
    CLEANUP(metric_registry_freep) struct metric_registry *registry = metric_registry_new();
    struct metric_family *family =
        metric_histogram(registry, "x_seconds", "X.", "a", bounds, ARRAY_SIZE(bounds));
    struct metric_totals totals;

    metric_gauge(registry, "y", "Y.", NULL);
    ck_assert(metric_find_totals(registry, "x_seconds", &totals));
    ck_assert_uint_eq(totals.count, 0);
    metric_observe(metric_series(family, "1"), 3);
    metric_observe(metric_series(family, "1"), 1.5);
    metric_observe(metric_series(family, "1"), 0.5);
    ck_assert(metric_find_totals(registry, "x_seconds", &totals));
    ck_assert_double_eq(totals.last, 0.5);
    metric_observe(metric_series(family, "2"), 2);
    ck_assert(metric_find_totals(registry, "x_seconds", &totals));
    ck_assert_uint_eq(totals.count, 4);
    ck_assert_double_eq(totals.sum, 7);
    ck_assert_double_eq(totals.most, 3);
    ck_assert(!metric_find_totals(registry, "y", &totals));
    ck_assert(!metric_find_totals(registry, "z_seconds", &totals));
}
END_TEST

SUITE("metric", a_counter_is_written_with_help_and_type,
      families_and_series_come_in_order_whatever_made_them_first,
      the_same_labels_are_the_same_series, help_and_label_values_are_escaped,
      a_histogram_sums_its_buckets_upward, exponential_bounds_grow_by_their_factor,
      a_gauge_may_be_asked_when_somebody_looks, numbers_are_written_so_that_they_read_back,
      a_family_nobody_uses_is_not_written, no_update_is_lost_between_threads,
      the_totals_of_a_histogram_are_those_of_all_its_series, mistakes_of_the_program_abort)
