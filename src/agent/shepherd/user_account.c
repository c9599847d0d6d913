/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/user_account.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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
