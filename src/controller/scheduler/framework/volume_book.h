/* SPDX-License-Identifier: Apache-2.0 */
/* volume_book.h - claims, volumes and storage classes as the API reports them
 * and as pods that are being bound will change them, and how much scratch of
 * each node is promised
 *
 * Owns:       references to the objects.
 * Called by:  event_handlers.c (set), VolumeBinding (assume, forget).
 * Thread:     the scheduler's.
 * Invariant:  a node's promised bytes are the sum of what is charged to it.
 *             Each volume is charged once, from when a claim is assumed to get
 *             it until the volume is gone.
 *
 * Source: kube-scheduler, volumebinding (AssumeCache, CSIStorageCapacity).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct volume_book;

void volume_book_free(struct volume_book *b);
struct volume_book *volume_book_new(void) OWNED_BY(volume_book_free);
DEFINE_CLEANUP(struct volume_book, volume_book_free)

/* A claim, volume or class was added, changed or deleted. True when some node
 * has more unpromised scratch than before.
 */
bool volume_book_set(struct volume_book *b, const struct object *old_object,
                     const struct object *new_object);

/* Notes that the claim will be bound to that volume or, with volume NULL, get a new volume
 * on that node. Each assumption needs a volume_book_forget, unless the API confirms the
 * claim meanwhile.
 */
void volume_book_assume(struct volume_book *b, const struct object *claim,
                        const struct object *volume, const char *node_name);

void volume_book_forget(struct volume_book *b, const struct object *claim);

/* Borrowed until the next change; NULL when there is no such object. */
const struct object *volume_book_claim(const struct volume_book *b, const char *namespace,
                                       const char *name);
const struct object *volume_book_volume(const struct volume_book *b, const char *name);
const struct object *volume_book_class(const struct volume_book *b, const char *name);

/* The node that is chosen, or assumed, for the claim's volume. */
const char *volume_book_claim_node(const struct volume_book *b, const struct object *claim);

/* The volume that the claim is assumed to get, or NULL. */
const struct object *volume_book_assumed(const struct volume_book *b, const struct object *claim);

/* Visits the unbound volumes of a class, without those that are assumed for
 * another claim.
 */
typedef void volume_visit_fn(const struct object *volume, void *context);
void volume_book_visit_free(const struct volume_book *b, const struct object *claim,
                            const char *class_name, volume_visit_fn *visit, void *context);

/* Bytes of the node's scratch that are promised to volumes. */
int64_t volume_book_promised(const struct volume_book *b, const char *node_name);

/* The steps that give a pod its volumes on a node: VolumeBinding makes the plan
 * in Reserve and stores it in the cycle under CYCLE_VOLUMES; the scheduler
 * carries it out in PreBind (kube-scheduler, volumebinding PodVolumes).
 */
struct volume_step {
    const struct object *claim;
    const struct object *volume; /* to be bound; NULL: to be provisioned */
};

struct volume_plan {
    struct volume_step *steps;
    unsigned count;
    int64_t timeout_us; /* for all claims to be bound */
};

/* Life. The plan holds references to the objects. */
void volume_plan_free(struct volume_plan *plan);
struct volume_plan *volume_plan_new(void) OWNED_BY(volume_plan_free);
DEFINE_CLEANUP(struct volume_plan, volume_plan_free)

void volume_plan_add(struct volume_plan *plan, const struct object *claim,
                     const struct object *volume);
