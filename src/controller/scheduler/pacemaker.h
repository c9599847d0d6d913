/* SPDX-License-Identifier: Apache-2.0 */
/* pacemaker.h - keeps a scheduler going on a loop
 *
 * Cycles while there are pods to try, a few at a time so that the loop stays
 * responsive; ticks as time passes. Scheduling begins with pacemaker_start,
 * when the cluster is known, and not before.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct clock;
struct loop;
struct pacemaker;
struct scheduler;

void pacemaker_free(struct pacemaker *p);
struct pacemaker *pacemaker_new(struct loop *loop, struct clock *clock)
    OWNED_BY(pacemaker_free);
DEFINE_CLEANUP(struct pacemaker, pacemaker_free)

/* Start: from now on, for it leads and knows the cluster. Stop: no more cycles;
 * it lets go of the scheduler. Ready: there is work (scheduler_settings.ready,
 * with the pacemaker as context); before the start it does nothing.
 */
void pacemaker_start(struct pacemaker *p, struct scheduler *scheduler);
void pacemaker_stop(struct pacemaker *p);
void pacemaker_ready(void *context);
