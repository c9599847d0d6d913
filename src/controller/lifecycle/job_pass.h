/* SPDX-License-Identifier: Apache-2.0 */
/* job_pass.h - one look at a Job: the calls that came of it, until all of them
 * are answered
 *
 * Says in the log and by Events what it did, and what was refused.
 *
 * Owns:    a reference to the Job, as it was looked at.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct event_recorder;
struct arena;
struct client;
struct job_news;
struct job_pass;
struct job_plan_pod;
struct json;
struct object;
struct stock;

/* Refused: the pod of that number could not be made. Done: with all calls;
 * has_failed wants another look.
 */
struct job_pass_means {
    struct client *client;
    struct stock *stock;
    struct event_recorder *event_recorder;
    void (*refused)(const struct object *job,
                    int64_t index,
                    int64_t attempt,
                    void *context);
    void (*done)(const struct object *job, bool has_failed, void *context);
    void *context;
};

/* Life: the pass frees itself when it has ended and all is answered. */
struct job_pass *job_pass_begin(const struct job_pass_means *means,
                                const struct object *job);
void job_pass_end(struct job_pass *pass);

/* Calls. The status goes with the Job's revision: one that has changed since
 * is looked at again. The arena is that of the status.
 */
void job_pass_create(struct job_pass *pass, const struct job_plan_pod *pod);
void job_pass_delete_active(struct job_pass *pass);
void job_pass_delete_surplus(struct job_pass *pass, int64_t n);
void job_pass_write(struct job_pass *pass,
                    struct arena *arena TAKES,
                    struct json *status,
                    const struct job_news *news);
