/* SPDX-License-Identifier: Apache-2.0 */
/* volume_search.h - which volumes the claims of one pod would have on a node
 *
 * Made once a cycle, from the claims; then asked of node after node. The parts
 * of a volume that do not depend on the node are looked at once, and volumes
 * that one node alone reaches are found by its name.
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

/* The reasons why a node cannot give the volumes, in upstream's order. */
enum volume_lack {
    LACK_REACH = 1 << 0,  /* of a bound volume */
    LACK_VOLUME = 1 << 1, /* that a claim could be bound to */
    LACK_SPACE = 1 << 2,
    LACK_BOUND = 1 << 3, /* the volume of a bound claim is gone */
};
#define LACKS 16

/* Life. The book is borrowed. */
void volume_search_free(struct volume_search *s);
struct volume_search *volume_search_new(const struct volume_book *book)
    OWNED_BY(volume_search_free);
DEFINE_CLEANUP(struct volume_search, volume_search_free)

/* A claim of the pod: bound, or one that waits for its first consumer. */
void volume_search_add(struct volume_search *s, const struct object *claim);

/* Where the pod can be at all because of volumes that few nodes reach: the
 * names, borrowed, in an array that the caller frees; NULL: anywhere.
 */
const char **volume_search_nodes(const struct volume_search *s,
                                 unsigned *ret_count);

/* Returns what the node lacks, 0 for nothing; then the plan, where one is
 * given, holds what is to be done.
 */
unsigned volume_search_try(const struct volume_search *s,
                           const struct node_view *node,
                           struct volume_plan *plan);
