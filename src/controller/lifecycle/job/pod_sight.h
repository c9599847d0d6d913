/* SPDX-License-Identifier: Apache-2.0 */
/* pod_sight.h - the last seen state of a pod as a few bits, which a map stores
 * in place of a pointer
 *
 * Thread:  any; no state of its own.
 */
#pragma once

#include <stdbool.h>

struct job;
struct object;
struct object_cache;
struct pod;

enum pod_sight {
    SEEN = 1,
    SEEN_ACTIVE = 2,
    SEEN_LIVE = 4,
    SEEN_READY = 8,
    SEEN_ENDING = 16,
    SEEN_ENDED = 32,
    SEEN_DELETING = 64,
    SEEN_PLACED = 128,
    SEEN_RUNNING = 256,
    SEEN_SILENT = 512,
    SEEN_HELD = 1024,
    SEEN_TO_FREEZE = 2048,
    SEEN_FROZEN = 4096,
    SEEN_WITHDRAWN = 8192,
    SEEN_OVER = 16384, /* running, and its agent ends it */
};

/* Of never sets SEEN_WITHDRAWN, since the pod does not show that. Change: 1, 0
 * or -1 for one bit.
 */
unsigned pod_sight_of(const struct job *job, const struct pod *pod);
int pod_sight_change(unsigned was, unsigned is, unsigned what);

/* For the Job's event: stores for which job the pod is frozen, in the words of
 * the pod's event; the caller frees the text. NULL: no pod is frozen for
 * another job. Is_one_frozen: some pod of the Job is frozen.
 */
void pod_sight_note_yield(char **yields_to, const struct pod *pod, unsigned sight,
                          bool is_one_frozen);

/* Whether the pod waited and has become the one that a node has, after an older state
 * was put back (apiserver/verbs/held_pods): it has another uid now, and was not removed.
 */
bool pod_sight_became(const struct object_cache *cache, const struct object *pod);
