/* SPDX-License-Identifier: Apache-2.0 */
/* user_account.h - the account of a uid: name, home, shell and groups
 *
 * Looked up in the site's user database (NSS), which may be a server that does
 * not answer, so the caller starts a timeout first (call_timeout.h). Also makes
 * a process that user: every program of Kiln that becomes a user goes through
 * both.
 *
 * Thread: one; a look-up may block. A process user is that of the calling thread.
 */
#pragma once

#include <stdbool.h>
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

/* The user that a process becomes. The functions after process_user_prepare are only system
 * calls, for the time between fork and exec (become_user.c).
 */
struct process_user {
    bool is_root; /* this process is root; otherwise it is the user already */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    gid_t *groups_seen; /* space for n_groups ids, to verify them */
    int n_groups;
};

/* Borrows the groups of the account. */
void process_user_prepare(struct process_user *u, const struct user_account *p);
void process_user_fini(struct process_user *u);

/* The steps; each returns 0 or a negative errno. The first three need root. */
int process_user_set_groups(const struct process_user *u);
int process_user_set_gid(const struct process_user *u);
int process_user_set_uid(const struct process_user *u);
int process_user_verify(const struct process_user *u);

/* All of them. */
int process_user_become(const struct process_user *u);
