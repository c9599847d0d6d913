/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.h - one attempt to place one pod, and what plugins note down for it
 *
 * A plugin keeps its notes under the address of something of its own. Notes
 * of prefilter that preemption changes while it tries things out (add_pod,
 * remove_pod) come with a way to copy them; those without are shared between
 * copies and must not change.
 *
 * Thread: the scheduler's; lives until the pod is bound or given up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

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
    plugin_set skipped_filters; /* prefilter said SKIP */
    plugin_set skipped_scores;  /* prescore said SKIP */
    char *words;                /* of who said no, where no reason has them */
    unsigned n_notes;
    struct cycle_note notes[CYCLE_NOTES];
};

/* Life. Init borrows the snapshot and refers to the pod. */
void cycle_init(struct cycle *c,
                struct pod_view *pod,
                const struct snapshot *snapshot);
void cycle_fini(struct cycle *c);
void cycle_copy(struct cycle *to, const struct cycle *from);

/* The keys of the struct grant that NumaFit reserved, which the binding carries
 * to the API, and of the struct topology_index in whose terms it speaks: the
 * node may come to have another one before the pod is bound.
 */
extern const char CYCLE_GRANT[];
extern const char CYCLE_TOPOLOGY_INDEX[];

/* The key of the struct volume_plan that VolumeBinding reserved. */
extern const char CYCLE_VOLUMES[];

/* Notes. Putting again replaces. Get: borrowed, or NULL. */
void cycle_put(struct cycle *c,
               const void *key,
               void *value TAKES,
               cycle_free_fn *free_value,
               cycle_dup_fn *dup_value);
void *cycle_get(const struct cycle *c, const void *key);

/* Why not, of this pod alone: said beside an answer whose reason is interned,
 * because names of objects are too many to intern.
 */
void cycle_say(struct cycle *c, const char *format, ...) PRINTF(2, 3);
