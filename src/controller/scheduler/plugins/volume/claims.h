/* SPDX-License-Identifier: Apache-2.0 */
/* claims.h - the PersistentVolumeClaims that a pod uses, and a hint that
 * depends on them
 *
 * Called by: the plugins of volumes.
 * Thread:    the scheduler's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct pod_view;

/* Both include claims of ephemeral volumes. */
bool claims_has_any(const struct pod_view *pod);
bool claims_include(const struct pod_view *pod, const char *namespace, const char *name);

/* A wake_hint_fn: whether the pod uses the claim that was added or changed. */
bool claims_hint(void *self, const struct pod_view *pod, const struct object *old_claim,
                 const struct object *new_claim);
