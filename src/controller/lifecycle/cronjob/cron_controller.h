/* SPDX-License-Identifier: Apache-2.0 */
/* cron_controller.h - makes Jobs by the schedules of CronJobs
 *
 * Each CronJob waits in the queue's heap until its next time; a Job is made as
 * the CronJob's owner, by the name of its minute, so that it is made once
 * whatever happens in between.
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
struct cron_controller *cron_controller_new(struct loop *loop,
                                            struct client *client,
                                            struct object_cache *cache,
                                            struct clock *clock)
    OWNED_BY(cron_controller_free);
