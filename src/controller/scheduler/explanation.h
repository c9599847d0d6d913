/* SPDX-License-Identifier: Apache-2.0 */
/* explanation.h - an answer to why a pod waits, while it is made
 *
 * Called by:  explain.c (the queue and the filters), explain_nodes.c (what the
 *             nodes lack), explain_start.c (when it could start) and
 *             explain_smaller.c (what would start now). Nobody
 *             else.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/explain/start_estimate.h"
#include "controller/scheduler/framework/cycle.h"

struct arena;
struct diagnosis;
struct json;
struct pod_view;
struct profile;
struct queued_pod;
struct scheduler;

struct explanation {
    struct scheduler *s;
    struct arena *arena;
    struct json *answer;
    struct pod_view *pod;
    const struct queued_pod *queued; /* NULL: not in the queue */
    struct profile *profile;
    struct cycle cycle;
    const struct diagnosis *diagnosis;
    struct shortage shortage;
    struct closers closers;
    struct start_estimate estimate;
    int64_t forecast_us;     /* with those before it; 0: nobody knows */
    bool is_stripped;        /* of the claims that it brings */
    bool is_without_scratch; /* it fits, but for scratch */
    bool is_at_least;        /* more nodes may have room than were counted */
};

/* A text of the answer, of bounded length. */
struct json *
explanation_text(struct arena *arena, const char *text, size_t length);

/* Needs: of a node, by the pod. Nodes: with it, what the nearest have and with
 * how much less it would fit (explain_nodes.c).
 */
void explanation_add_needs(struct explanation *e);
void explanation_add_nodes(struct explanation *e);

/* With how much less it would start now, each tried; the diagnosis is another
 * one afterwards (explain_smaller.c).
 */
void explanation_add_smaller(struct explanation *e);

/* When it could start, by the estimate; a group by its reservation
 * (explain_start.c).
 */
void explanation_add_start(struct explanation *e);
void explanation_add_group_start(struct explanation *e);
