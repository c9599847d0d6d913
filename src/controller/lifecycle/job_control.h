/* SPDX-License-Identifier: Apache-2.0 */
/* job_control.h - the loop that makes the pods of Jobs and counts how they end
 *
 * Each Job is looked at when it or one of its pods changes: job_plan says what
 * it needs, and this does it through the API. Changes of mere counts are put
 * off for a moment, so that a short job costs one write of its status.
 *
 * Owns:    the creates that are on their way (so that none is sent twice).
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct job_control;
struct loop;
struct stock;

void job_control_free(struct job_control *control);
struct job_control *job_control_new(struct loop *loop,
                                    struct client *client,
                                    struct stock *stock,
                                    struct clock *clock)
    OWNED_BY(job_control_free);
DEFINE_CLEANUP(struct job_control, job_control_free)
