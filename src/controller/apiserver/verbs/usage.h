/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - what nodes and pods use now, from the last reports of their agents
 *
 * The figures are only in memory: they have no revision, and cannot be watched.
 * A report replaces the last one of its node. A node that has missed three
 * reports is not shown any more. NodeMetrics and PodMetrics are made when they
 * are first read after a report.
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
struct usage *usage_new(struct loop *loop, struct clock *clock) OWNED_BY(usage_free);
