/* SPDX-License-Identifier: Apache-2.0 */
/* user_account.h - who a uid is: name, home, shell and groups
 *
 * Asked of the site's directory of users (NSS), which may be a server that
 * does not answer: the caller starts a timeout first (call_timeout.h).
 *
 * Thread: the shepherd's only one; asks the site's directory and may block.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

struct error;

struct user_account {
    uid_t uid;
    gid_t gid; /* the one wanted: primary, or one of the groups */
    char *name;
    char *home;
    char *shell;
    gid_t *groups; /* ascending, without doubles */
    int n_groups;
};

/* A gid of (gid_t)-1 asks for the primary group. -ENOENT: the uid has no entry;
 * -EPERM: it is not a member of the gid.
 */
void user_account_free(struct user_account *p);
int user_account_find(uid_t uid,
                      gid_t gid,
                      struct user_account **ret_user,
                      struct error *err);
DEFINE_CLEANUP(struct user_account, user_account_free)
