/* SPDX-License-Identifier: Apache-2.0 */
/* membership.h - who belongs to a namespace, and who may use a priority class,
 * partition or reservation
 *
 * The annotation kiln.hpc/members of a namespace lists user names and
 * "@group"s, or "*" for everybody. Without it, everybody belongs to `default`
 * and only administrators to any other. A worker resolves the names when the
 * annotation changes, so that a request only looks them up. A PriorityClass has
 * the annotations kiln.hpc/allowed-users, -groups and -namespaces, with
 * names or "*"; without them it is for administrators. Partitions and
 * Reservations have them in their spec; without both they are for everybody.
 *
 * Owns:    a watch of one of these kinds.
 * Thread:  the loop's; membership_check any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct principal;
struct loop;
struct membership;
struct store;
struct strbuf;
struct user;
struct workers;

#define ANNOTATION_MEMBERS            "kiln.hpc/members"
#define ANNOTATION_ALLOWED_USERS      "kiln.hpc/allowed-users"
#define ANNOTATION_ALLOWED_GROUPS     "kiln.hpc/allowed-groups"
#define ANNOTATION_ALLOWED_NAMESPACES "kiln.hpc/allowed-namespaces"

/* Life. Stop before the store is closed. Free after the workers' `done`s have
 * run.
 */
void membership_stop(struct membership *membership);
void membership_free(struct membership *membership);
struct membership *membership_new(struct loop *loop, struct store *store, struct workers *workers)
    OWNED_BY(membership_free);
struct membership *membership_new_of_classes(struct loop *loop, struct store *store,
                                             struct workers *workers) OWNED_BY(membership_free);

struct membership *membership_new_of_partitions(struct loop *loop, struct store *store,
                                                struct workers *workers) OWNED_BY(membership_free);

struct membership *membership_new_of_reservations(struct loop *loop, struct store *store,
                                                  struct workers *workers)
    OWNED_BY(membership_free);

/* For a start, of any thread: whether the object has the uid, and the user and
 * account may use it. Unknown: the names are being looked up. Writes why not. A
 * priority class must exist; of the others somebody else says that.
 */
enum membership_answer { MEMBERSHIP_YES, MEMBERSHIP_NO, MEMBERSHIP_UNKNOWN };
struct membership_question {
    const char *place;
    const char *uid;         /* NULL: any */
    bool skips_people;       /* an administrator has admitted it */
    const struct user *user; /* NULL: not known yet */
    const char *account;
    int64_t priority; /* of a class: everybody has those of pods without one */
};
enum membership_answer membership_check(struct membership *membership,
                                        const struct membership_question *question,
                                        struct strbuf *why);

/* By the name of the namespace, class, partition or reservation. Also
 * false while the names are resolved for the first time.
 */
bool membership_has(const struct membership *membership, const char *place,
                    const struct principal *principal);

/* Visits the places of which the last look-up failed, with a sentence: the first
 * user or group that does not exist.
 */
void membership_visit_troubles(const struct membership *membership,
                               void (*visit)(const char *text, void *context), void *context);
