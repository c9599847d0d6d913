/* SPDX-License-Identifier: Apache-2.0 */
/* user_cache.h - users that were looked up lately, kept in /run for the next
 * shepherds
 *
 * A query of the user database loads its libraries and may use the network: for
 * a thousand jobs of one user, once a minute is enough. There is one file per
 * uid and gid in a directory that only the agent's user may enter.
 *
 * Thread: any; files are replaced as a whole.
 */
#pragma once

#include <sys/types.h>

struct user_account;

/* The time after which a change in the user database is seen. */
#define USER_CACHE_SECONDS 60

/* -ENOENT when the cache has no entry or an old one; any other fault of the
 * file also counts as that.
 */
int user_cache_find(const char *directory, uid_t uid, gid_t gid, struct user_account **ret_user);

/* `asked` is the gid that user_account_find was asked for. Makes the directory
 * where it is missing. A failure only costs time.
 */
void user_cache_put(const char *directory, gid_t asked, const struct user_account *p);
