/* SPDX-License-Identifier: Apache-2.0 */
/* explanation.h - an answer to why a pod waits, while it is built
 *
 * Called by:  explain.c (the queue and the filters), explain_nodes.c (what the
 *             nodes lack), explain_start.c (when the pod could start) and
 *             explain_smaller.c (what smaller request would start now). No
 *             other file.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/explain/start_estimate.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/start_forecast.h"

struct arena;
struct cache;
struct diagnosis;
struct handle;
struct json;
struct node_finder;
struct partition_terms;
struct planner;
struct pod_view;
struct profile;
struct queue;
struct queued_pod;
struct reservation;
struct scheduler;
struct snapshot;

/* The answer is made from these, which are the scheduler's. */
struct explanation_sources {
    struct handle *handle;
    struct queue *queue;
    struct cache *cache;
    struct snapshot *snapshot;
    struct node_finder *node_finder;
    struct planner *planner;
    struct partition_terms *partition_terms;
    bool has_extenders;
};

struct explanation {
    struct scheduler *s; /* for explain.c alone */
    struct explanation_sources of;
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
    struct start_time forecast;
    const char *nodes;       /* of the group's reservation, in short form; or NULL */
    unsigned gang_size;      /* it stands for so many pods, which do not exist */
    bool is_stripped;        /* pod lacks its ephemeral claims */
    bool is_without_scratch; /* only scratch is lacking */
    bool is_at_least;        /* more nodes may have room than counted */
};

/* A text for the answer, cut to a bounded length. */
struct json *explanation_text(struct arena *arena, const char *text, size_t length);

/* Adds what the pod needs of a node. */
void explanation_add_needs(struct explanation *e);

/* Adds the needs, what the nearest nodes have, and with how much smaller requests the pod
 * would fit (explain_nodes.c).
 */
void explanation_add_nodes(struct explanation *e);

/* Adds with how much smaller requests the pod would start now, each of them
 * tried; this changes the node finder's diagnosis (explain_smaller.c).
 */
void explanation_add_smaller(struct explanation *e);

/* Add when the pod could start by the estimate, and a pod of a group by its
 * reservation (explain_start.c).
 */
void explanation_add_start(struct explanation *e);
void explanation_add_group_start(struct explanation *e, const struct reservation *r);

/* Adds when so many pods like it could start together, each on its own node, if it
 * is one of a job that does not exist yet. Its cycle is not begun.
 */
void explanation_add_gang(struct explanation *e, unsigned count);
