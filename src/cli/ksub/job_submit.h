/* SPDX-License-Identifier: Apache-2.0 */
/* job_submit.h - creates a Job on the controller exactly once
 *
 * Each submission has a unique key. When the reply is lost, or the controller
 * is not ready, ksub sends the same request with the same key again until its
 * time is up; the controller creates one job from all of them. A controller that
 * answers that it is not ready is waited for; the user is told why.
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
struct strbuf;

struct job_submit {
    const char *program; /* of messages about waiting; NULL: nothing is printed while it waits */
    struct strbuf *warnings; /* the controller's, a line each; NULL: they are printed */
    struct client *client;
    const char *namespace;
    const struct json *job;
    bool dry_run;
    bool is_test;        /* a job that can never run is an error: -ENODEV */
    int64_t patience_ms; /* how long to retry without an answer; 0: not at all */
};

/* The Job as the controller stored it; the caller unrefs it. */
int job_submit_run(const struct job_submit *request, const struct object **ret_job,
                   struct error *err);
