/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.h - one attempt to place one pod, and the notes of plugins about it
 *
 * A plugin keeps its notes under the address of one of its own static objects.
 * Notes that add_pod and remove_pod change during a what-if (preemption) need a
 * dup function. Notes without one are shared between copies of the cycle and
 * must not change.
 *
 * Thread: the scheduler's. A cycle lives until the pod is bound or has failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct node_view;
struct pod_view;
struct snapshot;

typedef void cycle_free_fn(void *note);
typedef void *cycle_dup_fn(const void *note);

#define CYCLE_NOTES 24

struct cycle_note {
    const void *key;
    void *value;
    cycle_free_fn *free_value; /* NULL: borrowed */
    cycle_dup_fn *dup_value;   /* NULL: shared */
};

struct cycle {
    struct pod_view *pod;
    const struct snapshot *snapshot;
    plugin_set skipped_filters; /* PreFilter answered SKIP */
    plugin_set skipped_scores;  /* PreScore answered SKIP */
    /* The nodes to choose from, because of the pod's group; NULL: all nodes. */
    struct node_view *const *among;
    uint32_t n_among;
    char *words; /* of cycle_set_message; NULL: none */
    unsigned n_notes;
    struct cycle_note notes[CYCLE_NOTES];
};

/* Life. Init borrows the snapshot and takes a reference to the pod. */
void cycle_init(struct cycle *c, struct pod_view *pod, const struct snapshot *snapshot);
void cycle_fini(struct cycle *c);
void cycle_copy(struct cycle *to, const struct cycle *from);

/* Two keys of notes that NumaFit writes in Reserve: the struct grant, which the
 * binding carries to the API, and the struct topology_index that the grant
 * refers to. The topology is kept because the node may get another one before
 * the pod is bound.
 */
extern const char CYCLE_GRANT[];
extern const char CYCLE_TOPOLOGY_INDEX[];

/* The key of the struct volume_plan that VolumeBinding made in Reserve. */
extern const char CYCLE_VOLUMES[];

/* Notes. Put replaces a note with the same key. Get returns it borrowed, or
 * NULL.
 */
void cycle_put(struct cycle *c, const void *key, void *value TAKES, cycle_free_fn *free_value,
               cycle_dup_fn *dup_value);
void *cycle_get(const struct cycle *c, const void *key);

/* Sets a message about this pod that goes with an answer whose reason is
 * interned. Object names belong here, because there are too many of them to
 * intern.
 */
void cycle_set_message(struct cycle *c, const char *format, ...) PRINTF(2, 3);
