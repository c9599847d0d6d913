/* SPDX-License-Identifier: Apache-2.0 */
/* membership.h - who belongs to which namespace, and who may use which
 * priority class or partition
 *
 * A namespace's annotation kiln.hpc/members lists user names and "@group"s,
 * or "*" for everybody. Without it, `default` is everybody's and any other
 * the administrators'. Names are resolved by a worker whenever the annotation
 * changes, so a request only looks. Of a PriorityClass there are two:
 * kiln.hpc/allowed-users and kiln.hpc/allowed-groups, user names and group
 * names, or "*"; without them it is the administrators'. Of a Partition the
 * spec has them; without both it is everybody's. Likewise of a Reservation.
 *
 * Owns:    a watch of one of these kinds.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct principal;
struct loop;
struct membership;
struct store;
struct workers;

#define ANNOTATION_MEMBERS        "kiln.hpc/members"
#define ANNOTATION_ALLOWED_USERS  "kiln.hpc/allowed-users"
#define ANNOTATION_ALLOWED_GROUPS "kiln.hpc/allowed-groups"

/* Life. Stop before the store closes; free after the workers' `done`s were
 * drained.
 */
void membership_stop(struct membership *membership);
void membership_free(struct membership *membership);
struct membership *
membership_new(struct loop *loop, struct store *store, struct workers *workers)
    OWNED_BY(membership_free);
struct membership *membership_new_of_classes(struct loop *loop,
                                             struct store *store,
                                             struct workers *workers)
    OWNED_BY(membership_free);

struct membership *membership_new_of_partitions(struct loop *loop,
                                                struct store *store,
                                                struct workers *workers)
    OWNED_BY(membership_free);

struct membership *membership_new_of_reservations(struct loop *loop,
                                                  struct store *store,
                                                  struct workers *workers)
    OWNED_BY(membership_free);

/* Look, by the name of the namespace, class or partition: false also while the names are
 * being resolved for the first time.
 */
bool membership_has(const struct membership *membership,
                    const char *place,
                    const struct principal *principal);
