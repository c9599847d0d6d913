/* SPDX-License-Identifier: Apache-2.0 */
/* yields.h - pods that are frozen so that others may run on their cores
 *
 *   runs --ask--> to yield --its agent--> has yielded --settle--> runs
 *                    |                                   ^
 *                    +--- not in time, or cannot --------+
 *
 * The whole state is in the pod: the request (ANNOTATION_YIELD, "job 51 (user
 * u2)") and the report of its agent (the condition Frozen). So a scheduler that
 * starts continues where the last one stopped. A pod runs again when no pod
 * runs on its cores and no pod that it yielded to is expected there. The API
 * server removes the request under the same condition as it accepts a binding,
 * so the two may come in any order.
 *
 * Owns:    the calls under way.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cache;
struct client;
struct clock;
struct node_view;
struct pod_view;
struct yields;

struct yields_settings {
    struct client *client;
    struct clock *clock;
    struct cache *cache; /* takes the cores back */
    /* Records an event of the pod. */
    void (*record)(struct pod_view *pod, const char *reason, const char *message, void *context);

    /* The preemptor is to be tried again, because a pod refuses to yield to it or has yielded
     * already.
     */
    void (*ended)(const struct pod_view *preemptor, void *context);

    void *context;
};

void yields_free(struct yields *y);
struct yields *yields_new(const struct yields_settings *settings) OWNED_BY(yields_free);
DEFINE_CLEANUP(struct yields, yields_free)

/* Asks the victim to yield. A pod that has yielded to another pod has yielded to this one,
 * too.
 */
void yields_ask(struct yields *y, struct pod_view *victim, struct pod_view *preemptor);

/* Notes the current state of a pod that has a node. */
void yields_note(struct yields *y, struct pod_view *pod);

/* The pod is gone. */
void yields_forget(struct yields *y, const struct pod_view *pod);

/* Another pod on the node has gone, or is no longer expected there. */
void yields_wake(struct yields *y, const struct node_view *node);

/* Lets the pods run again that may, of those whose check is due, and returns how many were
 * due; to be called a few times a second.
 */
unsigned yields_settle(struct yields *y);

/* Whether some pods are still to be asked to yield to this one. */
bool yields_has_preemptor(const struct yields *y, const struct pod_view *preemptor);

/* Whether the pod was asked and was not frozen, so that it is not asked again for a while. */
bool yields_is_refused(const struct yields *y, const struct pod_view *pod);
