/* SPDX-License-Identifier: Apache-2.0 */
/* extender_rounds.h - scheduling cycles that are parked until extenders answer
 *
 * The extenders that filter are asked one after the other about the nodes that
 * are left; then those that prioritize are asked all at once. About preemption
 * they are asked one after the other. Only a few pods are handled at a time.
 * The others wait in line, but no longer than the longest timeout of an
 * extender, so that no pod is in flight for long. Meanwhile the scheduler
 * handles other pods.
 *
 * Owns:    the assignments that are parked.
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, schedule_one.go (findNodesThatPassExtenders,
 *          prioritizeNodes) and framework/preemption (callExtenders).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct assignment;
struct clock;
struct extender_rounds;
struct extender_transport;
struct extenders;
struct string_ids;
struct node_view;
struct pod_view;
struct proposals;

struct extender_rounds_settings {
    struct extender_transport *extender_transport;
    const struct extenders *extenders;
    struct clock *clock;
    struct string_ids *reasons;
    const struct node_view *(*find_node)(const char *name, void *context);
    void (*ready)(void *context);          /* extender_rounds_take has one */
    void (*abandon)(struct assignment *a); /* frees one that is still parked */
    void *context;
};

/* Life. Free abandons the parked assignments; their pods are still in the
 * queue.
 */
void extender_rounds_free(struct extender_rounds *rounds);
struct extender_rounds *extender_rounds_new(const struct extender_rounds_settings *settings)
    OWNED_BY(extender_rounds_free);
DEFINE_CLEANUP(struct extender_rounds, extender_rounds_free)

/* Ask. The answers are stored in the assignment's extender results. Its `error`
 * is set when an extender failed that is not ignorable.
 */
void extender_rounds_ask_nodes(struct extender_rounds *rounds, struct assignment *a TAKES,
                               struct node_view *const *nodes, unsigned count);
void extender_rounds_ask_preemption(struct extender_rounds *rounds, struct assignment *a TAKES,
                                    struct proposals *proposals TAKES);

/* Returns an assignment that has all answers, or NULL. */
struct assignment *extender_rounds_take(struct extender_rounds *rounds);

/* Fails the rounds that have waited in line for too long. */
void extender_rounds_expire(struct extender_rounds *rounds);

/* Whether some extender filters or scores nodes for the pod, or takes
 * part in preemption for it; how many assignments are parked; whether take has
 * one.
 */
bool extender_rounds_concern_nodes(const struct extender_rounds *rounds,
                                   const struct pod_view *pod);
bool extender_rounds_concern_preemption(const struct extender_rounds *rounds,
                                        const struct pod_view *pod);
size_t extender_rounds_count(const struct extender_rounds *rounds);
bool extender_rounds_has_ready(const struct extender_rounds *rounds);
