/* SPDX-License-Identifier: Apache-2.0 */
/* extender_binder.h - lets an extender bind a pod
 *
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, schedule_one.go (extendersBinding).
 */
#pragma once

#include <stdbool.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct assignment;
struct extender_binder;
struct extender_transport;
struct extenders;

/* `bound` gets VERDICT_OK when the extender has bound the pod; VERDICT_SKIP
 * when an ignorable extender failed, so that the plugins bind the pod; and
 * VERDICT_ERROR when another one failed, with the reason in the assignment's
 * `error`.
 */
struct extender_binder_settings {
    struct extender_transport *extender_transport;
    const struct extenders *extenders;
    void (*bound)(struct assignment *a, enum verdict verdict, void *context);
    void *context;
};

/* Life. Free cancels pending requests; it must run before the binding cycle is
 * freed.
 */
void extender_binder_free(struct extender_binder *b);
struct extender_binder *extender_binder_new(const struct extender_binder_settings *settings)
    OWNED_BY(extender_binder_free);
DEFINE_CLEANUP(struct extender_binder, extender_binder_free)

/* True: an extender was asked to bind, and `bound` will be called. */
bool extender_binder_bind(struct extender_binder *b, struct assignment *a);
