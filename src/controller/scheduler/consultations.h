/* SPDX-License-Identifier: Apache-2.0 */
/* consultations.h - the cycles that are parked until extenders have answered
 *
 * Extenders that filter are asked one after the other about the nodes that are
 * left, then those that prioritize all at once; about preemption, one after the
 * other. A few pods at a time; those beyond wait in line, but no longer than
 * an extender may take, so that none is in flight for long. The scheduler goes
 * on with others.
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
struct consultations;
struct courier;
struct extenders;
struct names;
struct node_view;
struct pod_view;
struct proposals;

struct consultations_settings {
    struct courier *courier;
    const struct extenders *extenders;
    struct clock *clock;
    struct names *reasons;
    const struct node_view *(*find_node)(const char *name, void *context);
    void (*ready)(void *context);          /* one can be taken */
    void (*abandon)(struct assignment *a); /* frees one that is still parked */
    void *context;
};

/* Life. Free lets go of the parked pods, which the queue still has. */
void consultations_free(struct consultations *cs);
struct consultations *
consultations_new(const struct consultations_settings *settings)
    OWNED_BY(consultations_free);
DEFINE_CLEANUP(struct consultations, consultations_free)

/* Ask. The answers go to the assignment's counsel; its `error` is set when an
 * extender that may not be ignored failed.
 */
void consultations_ask_nodes(struct consultations *cs,
                             struct assignment *a TAKES,
                             struct node_view *const *nodes,
                             unsigned count);
void consultations_ask_preemption(struct consultations *cs,
                                  struct assignment *a TAKES,
                                  struct proposals *proposals TAKES);

/* One that has been answered, or NULL. */
struct assignment *consultations_take(struct consultations *cs);

/* Those that have waited in line for too long are answered so. */
void consultations_expire(struct consultations *cs);

/* Look: whether some extender has a say in the pod's node, in preemption for
 * it; how many are parked, and how many could be taken.
 */
bool consultations_concern_nodes(const struct consultations *cs,
                                 const struct pod_view *pod);
bool consultations_concern_preemption(const struct consultations *cs,
                                      const struct pod_view *pod);
size_t consultations_count(const struct consultations *cs);
bool consultations_has_ready(const struct consultations *cs);
