/* SPDX-License-Identifier: Apache-2.0 */
/* job_submit.h - creates a Job on the controller exactly once
 *
 * Each submission has its own key. When the reply is lost, or the controller
 * says that it is not ready, ksub sends the same request with that key again
 * until its time is up; the controller makes one job of them.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;
struct error;
struct json;
struct object;

struct job_submit {
    struct client *client;
    const char *namespace;
    const struct json *job;
    bool dry_run;
    int64_t patience_ms; /* how long to try again */
};

/* The Job as the controller has it, yours to unref. */
int job_submit_run(const struct job_submit *request,
                   const struct object **ret_job,
                   struct error *err);
