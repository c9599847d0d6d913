/* SPDX-License-Identifier: Apache-2.0 */
/* user.h - a uid with its name and groups from the system's databases
 *
 * Thread:     any; the count of references is atomic, the rest is const.
 * Invariant:  for a uid without an entry the name is the number and the only
 *             group is the gid given.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct user {
    unsigned references; /* atomic */
    uid_t uid;
    gid_t gid;      /* primary */
    bool is_known;  /* has an entry in the user database */
    bool is_unsure; /* the database did not answer, so the user may have one */
    char *name;
    gid_t *groups; /* all groups, the primary one included */
    size_t n_groups;
};

/* Life. Lookup calls NSS, which may block for long, so call it on a worker.
 * `gid` is used when the user is unknown.
 */
void user_unref(const struct user *u);
const struct user *user_ref(const struct user *u);
const struct user *user_lookup(uid_t uid, gid_t gid) MUST_USE;
DEFINE_CLEANUP(const struct user, user_unref)

bool user_is_in_group(const struct user *u, gid_t gid);
