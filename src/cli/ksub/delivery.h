/* SPDX-License-Identifier: Apache-2.0 */
/* delivery.h - a Job to the controller, exactly once
 *
 * A submission has a key of its own. When the reply is lost, or the
 * controller says that it is not ready, the same is sent again with that key
 * until the time is up: the controller makes one job of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;
struct error;
struct json;
struct object;

struct delivery {
    struct client *client;
    const char *namespace;
    const struct json *job;
    bool dry_run;
    int64_t patience_ms; /* how long to try again */
};

/* The Job as the controller has it, yours to unref. */
int delivery_run(const struct delivery *delivery,
                 const struct object **ret_job,
                 struct error *err);
