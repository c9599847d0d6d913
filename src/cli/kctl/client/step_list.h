/* SPDX-License-Identifier: Apache-2.0 */
/* step_list.h - reads the steps of jobs page by page
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct json;
struct kctl;
struct task_list;

/* Items are as /kiln/v1/steps returns them; omitted: pods with more steps than records. */
struct step_list {
    struct arena *arena;
    struct json *items, *omitted;
};

struct step_list step_list_make(struct arena *arena);

/* Adds the steps of a job: of these tasks (NULL: all), and only those that run. */
int step_list_add(struct step_list *list, struct kctl *kctl, int64_t job,
                  const struct task_list *tasks, bool running, struct error *err);

/* Adds the steps of several jobs, in their order; so many in one request. -EINVAL: the controller
 * is of a release that is asked for each job alone.
 */
#define STEP_LIST_JOBS 200
int step_list_add_jobs(struct step_list *list, struct kctl *kctl, const int64_t *jobs, size_t count,
                       bool running, struct error *err);
