/* SPDX-License-Identifier: Apache-2.0 */
/* step_cache.h - the numbered steps of one job after another
 *
 * Each job is a request, so a command asks for those of 1000 jobs at most, and of one job once.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/kctl/client/step_list.h"

struct json;
struct slurm_client;

struct step_cache {
    struct step_list list; /* of `job` */
    int64_t job;
    size_t n_asked;
};

/* The records (/kiln/v1/steps) of the steps of a job, or only of those that run; NULL or none:
 * it has no steps, or they are another user's. Valid until the next call.
 */
const struct json *step_cache_find(struct step_cache *cache, struct slurm_client *client,
                                   int64_t job, bool running);

/* Whether it is a step of this task of an array; -1: of a job that is none. */
bool step_cache_is_of_task(const struct json *record, int64_t task);
