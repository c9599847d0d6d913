/* SPDX-License-Identifier: Apache-2.0 */
/* volume_book.h - claims, volumes and classes of storage, as the API says they
 * are and as pods on their way to a node will make them; and how much scratch
 * of each node is promised
 *
 * Owns:       references to the objects.
 * Called by:  event_handlers.c, which tells it; VolumeBinding, which assumes.
 * Thread:     the scheduler's.
 * Invariant:  a node's promised bytes are the sum of what is charged to it:
 *             each volume once, from the moment a claim is assumed to get it
 *             until the volume is gone.
 *
 * Source: kube-scheduler, volumebinding (AssumeCache, CSIStorageCapacity).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct volume_book;

/* Life */
void volume_book_free(struct volume_book *b);
struct volume_book *volume_book_new(void) OWNED_BY(volume_book_free);
DEFINE_CLEANUP(struct volume_book, volume_book_free)

/* A claim, volume or class came, changed or went. True when a node has more
 * scratch to promise than before.
 */
bool volume_book_set(struct volume_book *b,
                     const struct object *old_object,
                     const struct object *new_object);

/* Assume: the claim will have that volume, or be given one on that node
 * (volume NULL). As often as it is assumed it has to be forgotten, unless the
 * API says so meanwhile.
 */
void volume_book_assume(struct volume_book *b,
                        const struct object *claim,
                        const struct object *volume,
                        const char *node_name);
void volume_book_forget(struct volume_book *b, const struct object *claim);

/* Look. Borrowed until the next change; NULL when it is not there. */
const struct object *volume_book_claim(const struct volume_book *b,
                                       const char *namespace,
                                       const char *name);
const struct object *volume_book_volume(const struct volume_book *b,
                                        const char *name);
const struct object *volume_book_class(const struct volume_book *b,
                                       const char *name);

/* The node that was chosen for the claim, or is assumed to be. */
const char *volume_book_claim_node(const struct volume_book *b,
                                   const struct object *claim);

/* The volume that the claim is assumed to get, or NULL. */
const struct object *volume_book_assumed(const struct volume_book *b,
                                         const struct object *claim);

/* Visits the volumes of a class that nobody has, but for those that are
 * assumed for another claim.
 */
typedef void volume_visit_fn(const struct object *volume, void *context);
void volume_book_visit_free(const struct volume_book *b,
                            const struct object *claim,
                            const char *class_name,
                            volume_visit_fn *visit,
                            void *context);

/* Bytes of the node's scratch that are promised. */
int64_t volume_book_promised(const struct volume_book *b,
                             const char *node_name);

/* A plan of what is to be done so that a pod has its volumes on a node: made by
 * VolumeBinding in Reserve, kept in the cycle under CYCLE_VOLUMES, carried out by
 * the scheduler in PreBind (kube-scheduler, volumebinding PodVolumes).
 */
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
