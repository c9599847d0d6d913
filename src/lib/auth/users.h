/* SPDX-License-Identifier: Apache-2.0 */
/* users.h - the users that were looked up lately
 *
 * Entries are good for five minutes; past a bound all are forgotten.
 *
 * Owns:   a reference to each user.
 * Thread: any; it has a lock of its own.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct user;
struct users;

/* Life */
void users_free(struct users *u);
struct users *users_new(void) OWNED_BY(users_free);
DEFINE_CLEANUP(struct users, users_free)

/* Change: takes a reference of its own. */
void users_put(struct users *u, const struct user *user, int64_t now_us);

/* Look: a reference for the caller, or NULL. Of a uid that the system does not
 * know, only what was found for the same gid.
 */
const struct user *
users_find(struct users *u, uid_t uid, gid_t gid, int64_t now_us);
