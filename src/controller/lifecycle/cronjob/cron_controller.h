/* SPDX-License-Identifier: Apache-2.0 */
/* cron_controller.h - creates Jobs by the schedules of CronJobs
 *
 * Each CronJob waits in the workqueue until its next scheduled time. A Job is
 * created on behalf of the CronJob's owner. Its name is derived from the
 * scheduled minute, so that one Job is created for each time, even after a
 * retry or restart.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct cron_controller;
struct loop;
struct object_cache;

void cron_controller_free(struct cron_controller *c);
struct cron_controller *cron_controller_new(struct loop *loop, struct client *client,
                                            struct object_cache *cache, struct clock *clock)
    OWNED_BY(cron_controller_free);
