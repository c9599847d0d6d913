/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/write/serial_worker.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>

#include "lib/base/macro.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

#define TASKS 100

struct sync_call {
    struct serial_worker_task task;
    struct road *road;
    unsigned number;
    pthread_t worked_by;
};

struct road {
    struct serial_worker *worker;
    struct loop *loop;
    struct sync_call calls[TASKS];
    unsigned worked; /* used by the worker's thread */
    unsigned done;   /* used by the loop */
    bool again;      /* the last task submits the first one again */
};

static void
work(struct serial_worker_task *task)
{
    struct sync_call *e = container_of(task, struct sync_call, task);

    ck_assert_uint_eq(e->number, e->road->worked % TASKS);
    e->road->worked++;
    e->worked_by = pthread_self();
}

static void
done(struct serial_worker_task *task)
{
    struct sync_call *e = container_of(task, struct sync_call, task);

    ck_assert(!pthread_equal(e->worked_by, pthread_self()));
    ck_assert_uint_eq(e->number, e->road->done % TASKS);
    if (++e->road->done == TASKS && e->road->again)
        serial_worker_submit(e->road->worker, &e->road->calls[0].task);
    else if (e->road->done == TASKS)
        loop_stop(e->road->loop);
}

static void
send_all(struct road *road)
{
    for (unsigned i = 0; i < TASKS; i++) {
        road->calls[i] = (struct sync_call){{NULL, work, done}, road, i, 0};
        serial_worker_submit(road->worker, &road->calls[i].task);
    }
}

START_TEST(tasks_are_worked_off_in_order_and_answered_on_the_loop)
{
    static struct road road;

    road.loop = loop_new();
    road.worker = serial_worker_new(road.loop, "worker");
    send_all(&road);
    loop_run(road.loop);

    ck_assert_uint_eq(road.done, TASKS);
    ck_assert_uint_eq(serial_worker_length(road.worker), 0);
    serial_worker_free(road.worker);
    loop_free(road.loop);
}
END_TEST

START_TEST(a_lane_that_ends_answers_everything_first)
{
    static struct road road;

    road.loop = loop_new();
    road.worker = serial_worker_new(road.loop, "worker");
    road.again = true;
    send_all(&road);
    serial_worker_free(road.worker);

    ck_assert_uint_eq(road.done, TASKS + 1);
    loop_drain(road.loop);
    ck_assert_uint_eq(road.done, TASKS + 1);
    loop_free(road.loop);
}
END_TEST

SUITE("serial worker", tasks_are_worked_off_in_order_and_answered_on_the_loop,
      a_lane_that_ends_answers_everything_first)
