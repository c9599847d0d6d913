/* SPDX-License-Identifier: Apache-2.0 */
/* step_usage.h - what running tasks use, told now and then
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdint.h>

struct cgroup;
struct step_link;
struct step_result;
struct step_tasks;
struct step_usage;

/* The step's cgroup may be NULL: it has none. */
struct step_usage *step_usage_new(const struct cgroup *cgroup, struct step_result *result,
                                  struct step_link *link);

/* Tells, when it is time for that. Returns how long to wait for the next time; -1: for ever. */
int step_usage_report(struct step_usage *u, const struct step_tasks *tasks, int64_t now_ms);
