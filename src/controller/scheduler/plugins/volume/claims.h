/* SPDX-License-Identifier: Apache-2.0 */
/* claims.h - which claims of storage a pod uses, and hints that go by it
 *
 * Called by: the plugins of volumes.
 * Thread:    the scheduler's.
 */
#pragma once

#include <stdbool.h>

struct object;
struct pod_view;

/* Ephemeral ones, too. */
bool claims_has_any(const struct pod_view *pod);
bool claims_include(const struct pod_view *pod,
                    const char *namespace,
                    const char *name);

/* A wake_hint_fn for claims: the pod uses the one that came or changed. */
bool claims_hint(void *self,
                 const struct pod_view *pod,
                 const struct object *old_claim,
                 const struct object *new_claim);
