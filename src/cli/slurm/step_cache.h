/* SPDX-License-Identifier: Apache-2.0 */
/* step_cache.h - the numbered steps of one job after another
 *
 * The jobs that will be asked for are told first, so that the controller is asked for many at once.
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
    int64_t *jobs; /* that are expected, in this order; of the client's arena */
    size_t n_jobs, capacity;
    size_t begin, end; /* of these, the ones whose steps are here */
    struct json **steps;
    bool is_single; /* the controller takes one job at a time */
    bool has_failed;
    int64_t job; /* that was asked for and not expected */
    struct json *of_job;
};

/* The steps of the job will be asked for, once or more, after those told before. */
void step_cache_expect(struct step_cache *cache, struct slurm_client *client, int64_t job);

/* The records (/kiln/v1/steps) of the steps of a job, or only of those that run; NULL or none:
 * it has no steps, or they are another user's. If they cannot be asked for, that is said once.
 */
const struct json *step_cache_find(struct step_cache *cache, struct slurm_client *client,
                                   int64_t job, bool running);

/* Whether it is a step of this task of an array; -1: of a job that is none. */
bool step_cache_is_of_task(const struct json *record, int64_t task);
