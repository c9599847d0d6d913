/* SPDX-License-Identifier: Apache-2.0 */
/* step_events.h - the descriptors that kiln-step waits for
 *
 * All are edge-triggered: a callback goes on until the call would block, or notes that there
 * is more.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct step_events;

/* A member of its owner. */
struct step_watch {
    void (*ready)(struct step_watch *w, uint32_t events); /* EPOLLIN, ... */
};

int step_events_open(struct step_events **ret_events);

/* Remove: closing alone leaves a descriptor in the set while another process has it, too. */
void step_events_add(struct step_events *e, int fd, uint32_t events, struct step_watch *w);
void step_events_remove(struct step_events *e, int fd);

/* Waits for at most so long, -1: for any time, and calls what is ready. */
void step_events_take(struct step_events *e, int wait_ms);
