/* SPDX-License-Identifier: Apache-2.0 */
/* membership.h - who belongs to which namespace
 *
 * A namespace's annotation kiln.hpc/members lists user names and "@group"s,
 * or "*" for everybody. Without it, `default` is everybody's and any other
 * the administrators'. Names are resolved by a worker whenever the annotation
 * changes, so a request only looks.
 *
 * Owns:    a watch of the namespaces.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct caller;
struct loop;
struct membership;
struct store;
struct workers;

#define ANNOTATION_MEMBERS "kiln.hpc/members"

/* Life. Stop before the store closes; free after the workers' `done`s were
 * drained.
 */
void membership_stop(struct membership *membership);
void membership_free(struct membership *membership);
struct membership *
membership_new(struct loop *loop, struct store *store, struct workers *workers)
    OWNED_BY(membership_free);

/* Look: false also while the names are being resolved for the first time. */
bool membership_has(const struct membership *membership,
                    const char *namespace,
                    const struct caller *caller);
