/* SPDX-License-Identifier: Apache-2.0 */
/* binders.h - the extender that binds pods itself
 *
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, schedule_one.go (extendersBinding).
 */
#pragma once

#include <stdbool.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct assignment;
struct binders;
struct courier;
struct extenders;

/* Bound: VERDICT_OK; VERDICT_SKIP where it failed and may be ignored, so that
 * the plugins bind; VERDICT_ERROR with the assignment's `error`.
 */
struct binders_settings {
    struct courier *courier;
    const struct extenders *extenders;
    void (*bound)(struct assignment *a, enum verdict verdict, void *context);
    void *context;
};

/* Life. Free cancels what is under way; free it before the assignments. */
void binders_free(struct binders *b);
struct binders *binders_new(const struct binders_settings *settings)
    OWNED_BY(binders_free);
DEFINE_CLEANUP(struct binders, binders_free)

/* True: an extender was asked to, and `bound` will be called. */
bool binders_bind(struct binders *b, struct assignment *a);
