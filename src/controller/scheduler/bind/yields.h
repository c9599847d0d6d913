/* SPDX-License-Identifier: Apache-2.0 */
/* yields.h - pods that stand still so that others may run on their cores
 *
 *   runs --ask--> to yield --its agent--> has yielded --settle--> runs
 *                    |                                   ^
 *                    +--- not in time, or cannot --------+
 *
 * All of it is in the pod: the wish (ANNOTATION_YIELD, "job 51 (user u2)"), and its
 * agent's word (the condition Frozen). So a scheduler that begins anew goes on
 * where the one before stopped. A pod goes on when nobody runs on its cores, and no
 * pod for which it yielded is to come. The API server takes the wish off under the
 * same condition as a binding, so the two may cross.
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
    struct cache *cache; /* told who lends its cores no more */
    /* Say: an event of the pod. Ended: it does not yield to that one. */
    void (*say)(struct pod_view *pod,
                const char *reason,
                const char *message,
                void *context);
    void (*ended)(const struct pod_view *preemptor, void *context);
    void *context;
};

void yields_free(struct yields *y);
struct yields *yields_new(const struct yields_settings *settings)
    OWNED_BY(yields_free);
DEFINE_CLEANUP(struct yields, yields_free)

/* Change. Ask: one that yields to another already yields to this one. Note: a pod
 * that has a node, as the API has it now. Wake: something else on its node has gone,
 * or is to come there no more. Settle: lets those go on that may, of those that are
 * to be looked at by now; a few times a second. Returns how many these were.
 */
void yields_ask(struct yields *y,
                struct pod_view *victim,
                struct pod_view *preemptor);
void yields_note(struct yields *y, struct pod_view *pod);
void yields_forget(struct yields *y, const struct pod_view *pod);
void yields_wake(struct yields *y, const struct node_view *node);
unsigned yields_settle(struct yields *y);

/* Look. Has preemptor: some pods have still to be asked for it. Is refused: it was
 * asked, and did not stand still; it is not asked again for a while.
 */
bool yields_has_preemptor(const struct yields *y,
                          const struct pod_view *preemptor);
bool yields_is_refused(const struct yields *y, const struct pod_view *pod);
