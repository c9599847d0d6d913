/* SPDX-License-Identifier: Apache-2.0 */
/* job_pods.h - the pods of a job, in the order of their creation
 *
 * Thread: the main one.
 */
#pragma once

#include <stdint.h>

struct arena;
struct error;
struct json;
struct kctl;
struct target_object;

/* An array in the arena; the newest attempt is last. Of_index: only the pods of
 * one index of an Indexed Job.
 */
int job_pods(struct kctl *kctl, const struct target_object *job, struct arena *arena,
             struct json **ret_pods, struct error *err);
int job_pods_of_index(struct kctl *kctl, const struct target_object *job, int64_t index,
                      struct arena *arena, struct json **ret_pods, struct error *err);
