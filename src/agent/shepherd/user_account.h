/* SPDX-License-Identifier: Apache-2.0 */
/* user_account.h - the account of a uid: name, home, shell and groups
 *
 * Looked up in the site's user database (NSS), which may be a server that does
 * not answer, so the caller starts a timeout first (call_timeout.h).
 *
 * Thread: the shepherd's only one; a look-up may block.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

struct error;

struct user_account {
    uid_t uid;
    gid_t gid; /* the wanted gid: primary, or one of the groups */
    char *name;
    char *home;
    char *shell;
    gid_t *groups; /* ascending, without duplicates */
    int n_groups;
};

/* A gid of (gid_t)-1 asks for the primary group. -ENOENT: the uid has no entry;
 * -EPERM: the user is not a member of the group.
 */
void user_account_free(struct user_account *p);
int user_account_find(uid_t uid, gid_t gid, struct user_account **ret_user, struct error *err);
DEFINE_CLEANUP(struct user_account, user_account_free)
