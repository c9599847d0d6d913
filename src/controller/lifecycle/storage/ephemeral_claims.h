/* SPDX-License-Identifier: Apache-2.0 */
/* ephemeral_claims.h - claims from the volumeClaimTemplates of pods: created
 * with the pod, deleted when the pod has ended
 *
 * Works like kube-controller-manager's ephemeral-volume controller, except that
 * the claim of an ended pod is deleted at once, so that the scratch space is
 * not kept for as long as the pod's record.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct ephemeral_claims;
struct loop;
struct object_cache;

/* Life. The loop is created before object_cache_start. */
void ephemeral_claims_free(struct ephemeral_claims *e);
struct ephemeral_claims *ephemeral_claims_new(struct loop *loop, struct client *client,
                                              struct object_cache *cache)
    OWNED_BY(ephemeral_claims_free);
DEFINE_CLEANUP(struct ephemeral_claims, ephemeral_claims_free)
