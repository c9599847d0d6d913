/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_waits.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

static struct fake_clock now = FAKE_CLOCK;
static struct fake_client *api;
static struct object_cache *cache;
static struct metric_registry *registry;
static struct job_waits *waits;

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    registry = metric_registry_new();
    cache = object_cache_new(fake_client_client(api));
    waits = job_waits_new(cache, &now.clock, registry);
    object_cache_start(cache);
    fake_client_run(api);
}

static void
end(void)
{
    job_waits_free(waits);
    object_cache_free(cache);
    metric_registry_free(registry);
    fake_client_free(api);
}

/* Minute: of 2024-01-01T00, since when the Job could start. */
static void
put_job(const char *name, const char *partition, int minute, const char *spec, const char *status)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\",\"uid\":\"u-%s\","
             "\"annotations\":{\"kiln.hpc/eligible-at\":\"2024-01-01T00:%02d:00Z\"}},"
             "\"spec\":{%s\"template\":{\"spec\":{\"placement\":{\"partition\":\"%s\"},"
             "\"containers\":[{\"name\":\"main\"}]}}},\"status\":{%s}}",
             name, name, minute, spec, partition, status);
    fake_client_put(api, &job_kind, text);
    fake_client_run(api);
}

static void
check_value(const char *series, const char *value)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char line[256];

    metric_format(registry, &text);
    snprintf(line, sizeof(line), "\n%s %s\n", series, value);
    ck_assert_msg(strstr(text.text, line) != NULL, "no '%s %s' in:\n%s", series, value, text.text);
}

#define OLDEST(partition) "kiln_job_oldest_wait_seconds{partition=\"" partition "\"}"
#define COUNT(partition)  "kiln_job_wait_seconds_count{partition=\"" partition "\"}"
#define SUM(partition)    "kiln_job_wait_seconds_sum{partition=\"" partition "\"}"
#define PENDING           "\"state\":\"Pending\""

START_TEST(the_oldest_wait_of_each_partition_is_that_of_the_job_that_waits_longest)
{
    begin();
    fake_clock_advance(&now, 600 * FAKE_SECOND);
    put_job("a", "long", 4, "", PENDING);
    put_job("b", "long", 2, "", PENDING);
    put_job("c", "", 9, "", PENDING);
    check_value(OLDEST("long"), "480");
    check_value(OLDEST("all"), "60");

    fake_clock_advance(&now, 10 * FAKE_SECOND);
    put_job("b", "long", 2, "", "\"state\":\"Running\"");
    check_value(OLDEST("long"), "370");
    fake_client_remove(api, &job_kind, "x", "a");
    fake_client_run(api);
    check_value(OLDEST("long"), "0");
    end();
}
END_TEST

START_TEST(a_held_job_does_not_wait_and_an_update_moves_a_job_to_another_partition)
{
    begin();
    fake_clock_advance(&now, 600 * FAKE_SECOND);
    put_job("a", "long", 4, "\"suspend\":true,", "\"state\":\"Held\"");
    put_job("b", "long", 5, "", PENDING);
    put_job("b", "short", 5, "", PENDING);
    check_value(OLDEST("long"), "0");
    check_value(OLDEST("short"), "300");
    end();
}
END_TEST

START_TEST(a_job_that_starts_is_observed_once_with_its_wait)
{
    begin();
    fake_clock_advance(&now, 600 * FAKE_SECOND);
    put_job("a", "long", 5, "", PENDING);
    put_job("a", "long", 5, "", "\"state\":\"Starting\"");
    put_job("a", "long", 5, "", "\"state\":\"Running\"");
    put_job("a", "long", 5, "", "\"state\":\"Requeued\"");
    put_job("a", "long", 5, "", "\"state\":\"Running\"");
    check_value(COUNT("long"), "1");
    check_value(SUM("long"), "300");
    end();
}
END_TEST

START_TEST(a_short_job_that_has_ended_is_observed_and_a_cancelled_one_is_not)
{
    begin();
    fake_clock_advance(&now, 600 * FAKE_SECOND);
    put_job("a", "long", 5, "", PENDING);
    put_job("a", "long", 5, "",
            "\"state\":\"Completed\",\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}],"
            "\"lastRun\":{\"startedAt\":\"2024-01-01T00:07:00Z\"}");
    put_job("b", "long", 5, "", PENDING);
    put_job(
        "b", "long", 5, "",
        "\"state\":\"Cancelled\",\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"Cancelled\"}]");
    check_value(COUNT("long"), "1");
    check_value(SUM("long"), "120");
    check_value(OLDEST("long"), "0");
    end();
}
END_TEST

START_TEST(a_controller_that_does_not_lead_knows_no_wait)
{
    begin();
    fake_clock_advance(&now, 600 * FAKE_SECOND);
    put_job("a", "long", 5, "", PENDING);

    job_waits_free(waits);
    waits = NULL;

    check_value(OLDEST("long"), "0");
    end();
}
END_TEST

SUITE("job_waits", the_oldest_wait_of_each_partition_is_that_of_the_job_that_waits_longest,
      a_held_job_does_not_wait_and_an_update_moves_a_job_to_another_partition,
      a_job_that_starts_is_observed_once_with_its_wait,
      a_short_job_that_has_ended_is_observed_and_a_cancelled_one_is_not,
      a_controller_that_does_not_lead_knows_no_wait)
