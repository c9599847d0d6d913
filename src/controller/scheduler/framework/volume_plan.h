/* SPDX-License-Identifier: Apache-2.0 */
/* volume_plan.h - what is to be done so that a pod has its volumes on a node
 *
 * Made by VolumeBinding in Reserve, kept in the cycle under CYCLE_VOLUMES,
 * carried out by the scheduler in PreBind.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, volumebinding PodVolumes.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct object;

struct volume_step {
    const struct object *claim;
    const struct object *volume; /* to be bound; NULL: one is to be made */
};

struct volume_plan {
    struct volume_step *steps;
    unsigned count;
    int64_t timeout_us; /* until all claims are bound */
};

/* Life. The plan refers to the objects. */
void volume_plan_free(struct volume_plan *plan);
struct volume_plan *volume_plan_new(void) OWNED_BY(volume_plan_free);
DEFINE_CLEANUP(struct volume_plan, volume_plan_free)

void volume_plan_add(struct volume_plan *plan,
                     const struct object *claim,
                     const struct object *volume);
