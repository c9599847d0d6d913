/* SPDX-License-Identifier: Apache-2.0 */
/* ephemeral_claims.h - claims of pods that bring a template for them: made
 * with the pod, gone when it has ended
 *
 * As kube-controller-manager's ephemeral-volume controller, but that a pod
 * that has ended does not keep its scratch as long as its record.
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct ephemeral_claims;
struct loop;
struct object_cache;

/* Life. Made before the object cache and the volume cache start. */
void ephemeral_claims_free(struct ephemeral_claims *e);
struct ephemeral_claims *ephemeral_claims_new(struct loop *loop,
                                              struct client *client,
                                              struct object_cache *cache)
    OWNED_BY(ephemeral_claims_free);
DEFINE_CLEANUP(struct ephemeral_claims, ephemeral_claims_free)
