/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up a user may load libraries and ask a network, and has no end of its own; so a
 * process that may hang alone does it, once a minute for each user. Becoming the user is by
 * direct system calls, because the C library's functions would change all threads that it
 * knows of, and is verified afterwards: the kernel or a security module may have made a call
 * that succeeded mean something else.
 */
#include "agent/shepherd/user_account.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define ENTRY_LIMIT_BYTES (1u << 20)

void
user_account_free(struct user_account *p)
{
    if (p == NULL)
        return;
    free(p->name);
    free(p->home);
    free(p->shell);
    free(p->groups);
    free(p);
}

static int
take_entry(struct user_account *p, gid_t *ret_primary)
{
    struct passwd entry;
    struct passwd *found = NULL;
    CLEANUP_FREE char *buffer = NULL;
    int r = ERANGE;

    for (size_t size = 1024; r == ERANGE && size <= ENTRY_LIMIT_BYTES; size *= 4) {
        buffer = xrealloc(buffer, size);
        r = getpwuid_r(p->uid, &entry, buffer, size, &found);
    }
    if (found == NULL)
        return r == 0 ? -ENOENT : -r;
    p->name = xstrdup(entry.pw_name);
    p->home = xstrdup(entry.pw_dir);
    p->shell = xstrdup(entry.pw_shell);
    *ret_primary = entry.pw_gid;
    return 0;
}

static int
compare(const void *a, const void *b)
{
    gid_t x = *(const gid_t *)a;
    gid_t y = *(const gid_t *)b;

    return (x > y) - (x < y);
}

static void
sort_groups(struct user_account *p)
{
    int kept = 0;

    qsort(p->groups, (size_t)p->n_groups, sizeof(*p->groups), compare);
    for (int i = 0; i < p->n_groups; i++)
        if (i == 0 || p->groups[i] != p->groups[kept - 1])
            p->groups[kept++] = p->groups[i];
    p->n_groups = kept;
}

static int
take_groups(struct user_account *p, gid_t primary)
{
    int room = 64;

    do {
        p->n_groups = room;
        p->groups = xrealloc_array(p->groups, (size_t)room, sizeof(*p->groups));
        room *= 4;
        if (getgrouplist(p->name, primary, p->groups, &p->n_groups) >= 0) {
            sort_groups(p);
            return 0;
        }
    } while (room <= NGROUPS_MAX * 4);
    return -E2BIG;
}

static bool
is_member(const struct user_account *p, gid_t gid)
{
    for (int i = 0; i < p->n_groups; i++)
        if (p->groups[i] == gid)
            return true;
    return false;
}

int
user_account_find(uid_t uid, gid_t gid, struct user_account **ret_user, struct error *err)
{
    CLEANUP(user_account_freep)
    struct user_account *p = xnew(struct user_account);
    gid_t primary = gid;
    int r;

    p->uid = uid;
    p->gid = gid;
    r = take_entry(p, &primary);
    if (r == -ENOENT)
        return error_set(err, r,
                         "uid %u is unknown on this node; does it use the "
                         "same user directory as the controller? ('getent "
                         "passwd %u')",
                         uid, uid);
    if (r < 0)
        return error_set(err, r, "looking up uid %u: %s", uid, strerror(-r));
    if (gid == (gid_t)-1)
        p->gid = gid = primary;
    r = take_groups(p, primary);
    if (r < 0)
        return error_set(err, r, "looking up the groups of '%s': %s", p->name, strerror(-r));
    if (!is_member(p, gid))
        return error_set(err, -EPERM,
                         "'%s' is not a member of group %u on this node ('id "
                         "%s')",
                         p->name, gid, p->name);
    *ret_user = p;
    p = NULL;
    return 0;
}

/* ---- Becoming the user ---- */

void
process_user_prepare(struct process_user *u, const struct user_account *p)
{
    const bool is_root = geteuid() == 0;

    *u = (struct process_user){
        .is_root = is_root,
        .uid = p->uid,
        .gid = is_root ? p->gid : getegid(),
        .groups = p->groups,
        .groups_seen = xnew_array(gid_t, (size_t)p->n_groups + 1),
        .n_groups = p->n_groups,
    };
}

void
process_user_fini(struct process_user *u)
{
    free(u->groups_seen);
    u->groups_seen = NULL;
}

/* Direct system calls, because the C library's functions of these names change
 * all threads that it knows, which are the shepherd's here.
 */
#ifdef SYS_setresuid32
#define SET_GROUPS SYS_setgroups32
#define SET_GIDS   SYS_setresgid32
#define SET_UIDS   SYS_setresuid32
#else
#define SET_GROUPS SYS_setgroups
#define SET_GIDS   SYS_setresgid
#define SET_UIDS   SYS_setresuid
#endif

int
process_user_set_groups(const struct process_user *u)
{
    return syscall(SET_GROUPS, (size_t)u->n_groups, u->groups) < 0 ? -errno : 0;
}

int
process_user_set_gid(const struct process_user *u)
{
    return syscall(SET_GIDS, u->gid, u->gid, u->gid) < 0 ? -errno : 0;
}

/* Until its program runs, the process belongs to the user but may share the
 * memory of a shepherd that ran other users' pods before. With fs.suid_dumpable
 * at 2, which systemd-coredump sets, only root may read that memory, but the
 * kernel still dumps it, and a site's core handler may give the user the dump.
 */
int
process_user_set_uid(const struct process_user *u)
{
    if (syscall(SET_UIDS, u->uid, u->uid, u->uid) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

static bool
has_capabilities(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return true;
    return (data[0].effective | data[0].permitted | data[1].effective | data[1].permitted) != 0;
}

/* The job must not be able to become root again, even if the kernel or a
 * security module has changed the effect of the three calls above.
 */
int
process_user_verify(const struct process_user *u)
{
    uid_t real, effective, saved;
    gid_t real_gid, effective_gid, saved_gid;
    int n = getgroups(u->n_groups, u->groups_seen);

    if (getresuid(&real, &effective, &saved) < 0
        || getresgid(&real_gid, &effective_gid, &saved_gid) < 0)
        return -errno;
    if (real != u->uid || effective != u->uid || saved != u->uid || real_gid != u->gid
        || effective_gid != u->gid || saved_gid != u->gid)
        return -ENOTRECOVERABLE;
    if (u->is_root
        && (n != u->n_groups
            || memcmp(u->groups, u->groups_seen, sizeof(gid_t) * (size_t)u->n_groups) != 0))
        return -ENOTRECOVERABLE;
    if (u->uid == 0)
        return 0;
    if (syscall(SET_UIDS, (uid_t)-1, 0, (uid_t)-1) == 0 || syscall(SYS_setuid, 0) == 0)
        return -ENOTRECOVERABLE;
    return u->is_root && has_capabilities() ? -ENOTRECOVERABLE : 0;
}

int
process_user_become(const struct process_user *u)
{
    int r = u->is_root ? process_user_set_groups(u) : 0;

    if (r == 0 && u->is_root)
        r = process_user_set_gid(u);
    if (r == 0 && u->is_root)
        r = process_user_set_uid(u);
    return r == 0 ? process_user_verify(u) : r;
}
