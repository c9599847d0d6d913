/* SPDX-License-Identifier: Apache-2.0 */
/* health_check.h - the site's program that says whether the node may take jobs
 *
 * It runs as the agent's user at the start and then from time to time, one run
 * after the other. It has failed when it does not exit with 0 in its time. The
 * node then gets no more jobs, with the last line that the program printed as
 * the reason, until a later run succeeds.
 *
 * Owns:    the run and the timer.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct health_check;
struct loop;

struct health_check_settings {
    struct loop *loop;
    const char *program;
    int64_t interval_ms; /* between the end of a run and the next one */
    int64_t limit_ms;
    /* Called with the first result, and when the result changes. */
    void (*changed)(void *context);
    void *context;
};

/* Life. Runs begin with health_check_start; free kills a run. */
void health_check_free(struct health_check *c);
struct health_check *health_check_new(const struct health_check_settings *settings)
    OWNED_BY(health_check_free);
DEFINE_CLEANUP(struct health_check, health_check_free)
void health_check_start(struct health_check *c);

/* False before the first result. Failure: NULL if the node is healthy;
 * borrowed until the next change.
 */
bool health_check_get(const struct health_check *c, const char **ret_failure);
