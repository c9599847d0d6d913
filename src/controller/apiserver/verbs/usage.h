/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - what nodes and pods take just now, by the last reports of agents
 *
 * In memory alone: no revision, no disk, nothing to watch. A report replaces
 * what its node said before; a node that has missed three of them is shown no
 * more. NodeMetrics and PodMetrics are made when they are first read after a
 * report.
 *
 * Owns:    the figures, and the objects made of them.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct clock;
struct loop;
struct usage;

/* Life */
void usage_free(struct usage *usage);
struct usage *usage_new(struct loop *loop, struct clock *clock)
    OWNED_BY(usage_free);
