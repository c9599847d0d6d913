/* SPDX-License-Identifier: Apache-2.0 */
/* job_grants.h - asks the controller for grants to start programs in a job (krun_grants.h)
 *
 * Thread: the main one.
 */
#pragma once

struct arena;
struct error;
struct json;
struct kctl;
struct krun_grants;

/* For connections to the pod, and to the others of the list that run: to start one program. -EACCES:
 * this user may not; -ENOSYS: the controller is of a release that has no grants.
 */
int job_grants_get(struct kctl *kctl, const struct json *pod, const struct json *others,
                   struct arena *arena, struct krun_grants **ret_grants, struct error *err);
