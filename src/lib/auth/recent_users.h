/* SPDX-License-Identifier: Apache-2.0 */
/* recent_users.h - the users that were looked up lately
 *
 * Entries are valid for five minutes. When there are too many, all are
 * forgotten.
 *
 * Owns:   a reference to each user.
 * Thread: any; it has a lock of its own.
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

/* Change: takes a reference of its own. */
void recent_users_put(struct recent_users *u,
                      const struct user *user,
                      int64_t now_us);

/* Look: a reference for the caller, or NULL. Of a uid that the system does not
 * know, only what was found for the same gid.
 */
const struct user *
recent_users_find(struct recent_users *u, uid_t uid, gid_t gid, int64_t now_us);
