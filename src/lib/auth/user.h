/* SPDX-License-Identifier: Apache-2.0 */
/* user.h - a uid with its name and groups, as the system knows it
 *
 * Thread:     any; the count of references is atomic, the rest is const.
 * Invariant:  a uid nobody knows has its number as name, and its gid alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct user {
    unsigned references; /* atomic */
    uid_t uid;
    gid_t gid;     /* primary */
    bool is_known; /* to the system's databases */
    char *name;
    gid_t *groups; /* all of them, the primary too */
    size_t n_groups;
};

/* Life. Lookup asks the system (NSS), which may block for long: on a worker.
 * `gid` is what stands in for an unknown user's.
 */
void user_unref(const struct user *u);
const struct user *user_ref(const struct user *u);
const struct user *user_lookup(uid_t uid, gid_t gid) MUST_USE;
DEFINE_CLEANUP(const struct user, user_unref)

/* Look */
bool user_is_in_group(const struct user *u, gid_t gid);
