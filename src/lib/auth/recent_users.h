/* SPDX-License-Identifier: Apache-2.0 */
/* recent_users.h - a cache of users that were looked up recently
 *
 * Entries are valid for five minutes. When the cache is full, all entries are
 * dropped.
 *
 * Owns:   a reference to each user.
 * Thread: any; it has its own lock.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct user;
struct recent_users;

/* Life */
void recent_users_free(struct recent_users *u);
struct recent_users *recent_users_new(void) OWNED_BY(recent_users_free);
DEFINE_CLEANUP(struct recent_users, recent_users_free)

/* Put takes its own reference. */
void recent_users_put(struct recent_users *u, const struct user *user, int64_t now_us);

/* A reference for the caller, or NULL. An entry of a uid that is not in
 * the system's user database is returned only for the same gid.
 */
const struct user *recent_users_find(struct recent_users *u, uid_t uid, gid_t gid, int64_t now_us);
