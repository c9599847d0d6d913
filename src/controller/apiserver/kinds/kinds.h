/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the kinds that have hooks, for hook_registry.c
 *
 * Thread:  any; constants.
 */
#pragma once

struct kind_hooks;

extern const struct kind_hooks cron_job_hooks;
extern const struct kind_hooks event_hooks;
extern const struct kind_hooks events_event_hooks;
extern const struct kind_hooks job_hooks;
extern const struct kind_hooks job_conformance_hooks; /* instead of job_hooks */
extern const struct kind_hooks lease_hooks;
extern const struct kind_hooks namespace_hooks;
extern const struct kind_hooks node_hooks;
extern const struct kind_hooks partition_hooks;
extern const struct kind_hooks persistent_volume_hooks;
extern const struct kind_hooks persistent_volume_claim_hooks;
extern const struct kind_hooks pod_hooks;
extern const struct kind_hooks pod_group_hooks;
extern const struct kind_hooks reservation_hooks;
