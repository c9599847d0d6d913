/* SPDX-License-Identifier: Apache-2.0 */
/* munge_check.h - whether munged answers, asked from time to time
 *
 * Without it nobody on another machine can prove who he is. /readyz says so,
 * and the log, once each way.
 *
 * Owns:       its timer.
 * Called by:  controller.c.
 * Thread:     the loop's; asking blocks, so a worker does.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/base/macro.h"

struct loop;
struct munge_check;
struct credential_backend;
struct workers;

/* Life. Stop before the workers are freed, free after. `is_dead` is the
 * caller's and outlives it.
 */
void munge_check_free(struct munge_check *check);
struct munge_check *
munge_check_new(struct loop *loop,
                struct workers *workers,
                struct credential_backend *credential_backend,
                atomic_bool *is_dead) OWNED_BY(munge_check_free);
void munge_check_stop(struct munge_check *check);
