/* SPDX-License-Identifier: Apache-2.0 */
/* munge_check.h - checks from time to time whether munged answers
 *
 * Without munged nobody on another machine can authenticate. /readyz fails
 * then, and each change is logged.
 *
 * Owns:       its timer.
 * Called by:  controller.c.
 * Thread:     the loop's; a worker asks munged, because that blocks.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/base/macro.h"

struct loop;
struct munge_check;
struct credential_backend;
struct workers;

/* Life. Stop before the workers are freed, free after that. `is_dead` is the
 * caller's and outlives the check.
 */
void munge_check_free(struct munge_check *check);
struct munge_check *munge_check_new(struct loop *loop, struct workers *workers,
                                    struct credential_backend *credential_backend,
                                    atomic_bool *is_dead) OWNED_BY(munge_check_free);
void munge_check_stop(struct munge_check *check);
