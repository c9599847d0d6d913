/* SPDX-License-Identifier: Apache-2.0 */
/* volume_calls.h - binds the volumes of pods that have a node: writes to the
 * API which claim gets which volume, and waits until all claims are bound
 *
 * Other pods are scheduled meanwhile. When the calls for a pod end, well or
 * not, the assignment is resumed; an error is in its words.
 *
 * Owns:    the calls under way.
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, volumebinding BindPodVolumes and checkBindings.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct assignment;
struct client;
struct clock;
struct volume_book;
struct volume_calls;
struct volume_plan;

struct volume_calls_settings {
    struct client *client;
    struct clock *clock;
    const struct volume_book *book;

    /* All claims are bound (words NULL), or `words` says why not. */
    void (*ended)(struct assignment *a, const char *words, void *context);
    void *context;
};

/* Life. Free cancels the calls and calls no callback. */
void volume_calls_free(struct volume_calls *vc);
struct volume_calls *volume_calls_new(const struct volume_calls_settings *settings)
    OWNED_BY(volume_calls_free);
DEFINE_CLEANUP(struct volume_calls, volume_calls_free)

/* Begins the calls of the plan, which is borrowed until they end. */
void volume_calls_begin(struct volume_calls *vc, struct assignment *a,
                        const struct volume_plan *plan);

/* A claim or a volume has changed. */
void volume_calls_check(struct volume_calls *vc);

/* Ends the calls that are out of time. */
void volume_calls_expire(struct volume_calls *vc);

/* The pod is gone. False: nothing is under way for it. */
bool volume_calls_abandon(struct volume_calls *vc, const struct assignment *a);
