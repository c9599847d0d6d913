/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/event_recorder.h"

#include <check.h>
#include <stdio.h>

#include "lib/api/cluster/event.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

static struct fake_clock now;
static struct fake_client *api;
static struct event_recorder *event_recorder;
static const struct object *job;

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    event_recorder =
        event_recorder_new(fake_client_client(api), &now.clock, "job-controller", NULL);
    job = fake_client_put(api, &job_kind,
                          "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
                          "\"j\",\"namespace\":\"default\"},\"spec\":{\"template\":{\"spec\":"
                          "{\"containers\":[{\"name\":\"main\"}]}}}}");
}

static void
end(void)
{
    event_recorder_free(event_recorder);
    fake_client_free(api);
}

START_TEST(a_repeated_event_is_counted)
{
    begin();

    for (int i = 0; i < 5; i++) {
        event_recorder_record(event_recorder, job, RECORD_WARNING, "FailedCreate", "no");
        fake_client_run(api);
    }

    ck_assert_uint_eq(fake_client_count(api, &event_kind), 1);
    /* Written at counts 1, 2 and 4. */
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_CREATE, NULL), 1);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_MERGE_PATCH, NULL), 2);
    end();
}
END_TEST

START_TEST(after_a_while_it_is_news_again)
{
    begin();

    event_recorder_record(event_recorder, job, RECORD_NORMAL, "Suspended", "held");
    fake_client_run(api);
    fake_clock_advance(&now, 3600 * FAKE_SECOND);
    event_recorder_record(event_recorder, job, RECORD_NORMAL, "Suspended", "held");
    fake_client_run(api);

    ck_assert_uint_eq(fake_client_count(api, &event_kind), 2);
    end();
}
END_TEST

/* Routine events are dropped first, then all; time restores the budget. */
START_TEST(a_flood_is_cut)
{
    size_t steps, all;
    char text[32];

    begin();
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "Created pod: %d", i);
        event_recorder_record(event_recorder, job, RECORD_STEP, "SuccessfulCreate", text);
        fake_client_run(api);
    }
    steps = fake_client_count(api, &event_kind);

    ck_assert_uint_gt(steps, 0);
    ck_assert_uint_lt(steps, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "no: %d", i);
        event_recorder_record(event_recorder, job, RECORD_WARNING, "FailedCreate", text);
        fake_client_run(api);
    }
    all = fake_client_count(api, &event_kind);
    ck_assert_uint_gt(all, steps);
    ck_assert_uint_lt(all, 1000);
    fake_clock_advance(&now, 60 * FAKE_SECOND);
    event_recorder_record(event_recorder, job, RECORD_STEP, "SuccessfulCreate", "more");
    fake_client_run(api);
    ck_assert_uint_eq(fake_client_count(api, &event_kind), all + 1);
    end();
}
END_TEST

START_TEST(one_that_ends_while_it_speaks_is_not_called_back)
{
    begin();

    event_recorder_record(event_recorder, job, RECORD_NORMAL, "Completed", "done");
    event_recorder_free(event_recorder);
    event_recorder = NULL;
    fake_client_run(api);

    ck_assert_uint_eq(fake_client_count(api, &event_kind), 0);
    end();
}
END_TEST

SUITE("event_recorder", a_repeated_event_is_counted, after_a_while_it_is_news_again, a_flood_is_cut,
      one_that_ends_while_it_speaks_is_not_called_back)
