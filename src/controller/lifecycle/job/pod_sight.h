/* SPDX-License-Identifier: Apache-2.0 */
/* pod_sight.h - a pod as it was seen, in a few bits, which stand in the place of
 * a pointer of a map
 *
 * Thread:  any; pure functions.
 */
#pragma once

struct job;
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
};

/* Withdrawn is never among them: that is no matter of the pod. Change: 1, 0 or
 * -1 for one bit.
 */
unsigned pod_sight_of(const struct job *job, const struct pod *pod);
int pod_sight_change(unsigned was, unsigned is, unsigned what);
