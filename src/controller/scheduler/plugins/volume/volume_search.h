/* SPDX-License-Identifier: Apache-2.0 */
/* volume_search.h - the volumes that the claims of one pod would get on a node
 *
 * A search is made once in a cycle, from the claims, and then tried on each
 * node. The properties of a volume that do not depend on the node are checked
 * once, and volumes that only one node reaches are found by that node's name.
 *
 * Owns:    references to the claims and volumes.
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, volumebinding FindPodVolumes.
 */
#pragma once

#include "lib/base/macro.h"

struct node_view;
struct object;
struct volume_book;
struct volume_plan;
struct volume_search;

/* Why a node cannot provide the volumes, in upstream's order. */
enum volume_lack {
    LACK_REACH = 1 << 0,  /* the node does not reach a bound volume */
    LACK_VOLUME = 1 << 1, /* no volume can be bound to a claim */
    LACK_SPACE = 1 << 2,
    LACK_BOUND = 1 << 3, /* the volume of a bound claim is gone */
};
#define LACKS 16

/* Life. The book is borrowed. */
void volume_search_free(struct volume_search *s);
struct volume_search *volume_search_new(const struct volume_book *book)
    OWNED_BY(volume_search_free);
DEFINE_CLEANUP(struct volume_search, volume_search_free)

/* Adds a claim of the pod that is bound or waits for its first consumer. */
void volume_search_add(struct volume_search *s, const struct object *claim);

/* The only nodes where the pod can run because few nodes reach its volumes:
 * borrowed names in an array that the caller frees; NULL: no restriction.
 */
const char **volume_search_nodes(const struct volume_search *s, unsigned *ret_count);

/* Returns the bits of what the node lacks; 0: nothing, and `plan`, if it is not
 * NULL, has the steps to take.
 */
unsigned volume_search_try(const struct volume_search *s, const struct node_view *node,
                           struct volume_plan *plan);
