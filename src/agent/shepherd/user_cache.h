/* SPDX-License-Identifier: Apache-2.0 */
/* user_cache.h - users looked up lately, kept in /run for the next shepherds
 *
 * Asking a directory of users loads its libraries and may cross the network:
 * for a thousand jobs of one user, once a minute is enough. A file per uid and
 * gid in a directory that only the agent's user may enter.
 *
 * Thread: any; files are replaced as a whole.
 */
#pragma once

#include <sys/types.h>

struct user_account;

/* How long a change in the directory of users may take to be seen. */
#define USER_CACHE_SECONDS 60

/* -ENOENT when there is none or it is too old; any other trouble with the file
 * counts as that too.
 */
int user_cache_find(const char *directory,
                    uid_t uid,
                    gid_t gid,
                    struct user_account **ret_user);

/* `asked` is the gid that user_account_find was asked for. Makes the directory
 * where it is missing. Failing costs only time.
 */
void user_cache_put(const char *directory,
                    gid_t asked,
                    const struct user_account *p);
