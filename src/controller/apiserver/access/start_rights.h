/* SPDX-License-Identifier: Apache-2.0 */
/* start_rights.h - whether the owner of a waiting pod may still start it
 *
 * A pod may wait for weeks after its submission was admitted. When it would
 * start, its owner must still be the user of that name and belong to its account
 * (the namespace), and its Partition, Reservation and PriorityClass must be the
 * objects that it was admitted to and be for that user.
 * The scheduler asks first, so that the pod waits with the cause; the API asks
 * again before it binds the pod.
 *
 * The user database is asked on a worker only. The scheduler knows what was
 * found last; a binding waits for an answer that is younger than a minute.
 * Pods that an administrator submitted for a number without a name are not
 * checked.
 *
 * Owns:    a record of users by their numbers.
 * Thread:  any, unless a function says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct clock;
struct kind;
struct loop;
struct membership;
struct pod;
struct policy;
struct start_rights;
struct strbuf;
struct user;
struct workers;

struct start_rights_settings {
    struct loop *loop;
    struct clock *clock;
    struct workers *workers;
    const struct policy *policy;
    const struct user *(*look_up)(uid_t uid, gid_t gid); /* NULL: user_lookup */
    struct membership *accounts;                         /* namespaces */
    struct membership *partitions;
    struct membership *reservations;
    struct membership *classes; /* of priorities */
};

/* Life. Free after the workers' `done`s have run. */
void start_rights_free(struct start_rights *r);
struct start_rights *start_rights_new(const struct start_rights_settings *settings)
    OWNED_BY(start_rights_free);

/* Whether the pod may not start: because of its owner and the owner's right to
 * the priority (`kind` NULL), or in the
 * Partition or Reservation of that name. Writes why. A right that is not known
 * yet is no refusal here; start_rights_bind decides that.
 */
bool start_rights_refuse(struct start_rights *r, const struct pod *pod, const struct kind *kind,
                         const char *name, struct strbuf *why);

/* The same for a binding, of all that the pod names; false also while something
 * is not known.
 */
bool start_rights_bind(struct start_rights *r, const struct pod *pod, struct strbuf *why);

/* Calls `done` later if the owner of the pod has to be looked up first, and
 * returns true. The loop's thread.
 */
bool start_rights_look_up(struct start_rights *r, const struct pod *pod, void (*done)(void *arg),
                          void *arg);
