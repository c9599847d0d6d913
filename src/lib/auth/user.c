/* SPDX-License-Identifier: Apache-2.0 */
/* "There is no such user" and "the directory did not answer" are different answers: the first
 * takes a user's rights away, and the second must not. getpwuid returns several errors that
 * mean the first.
 */
#include "lib/auth/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>

#include "lib/base/alloc.h"

enum { FIRST_BUFFER = 1024, LARGEST_BUFFER = 1 << 20 };

static unsigned *
references_of(const struct user *u)
{
    return &((struct user *)(uintptr_t)u)->references;
}

void
user_unref(const struct user *u)
{
    struct user *mine = (struct user *)(uintptr_t)u;

    if (u == NULL || __atomic_sub_fetch(references_of(u), 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(mine->name);
    free(mine->groups);
    free(mine);
}

const struct user *
user_ref(const struct user *u)
{
    __atomic_add_fetch(references_of(u), 1, __ATOMIC_RELAXED);
    return u;
}

static void
take_groups(struct user *u)
{
    int count = 32;

    for (;;) {
        int room = count;

        u->groups = xrealloc_array(u->groups, (size_t)room, sizeof(u->groups[0]));
        if (getgrouplist(u->name, u->gid, u->groups, &count) >= 0)
            break;
        if (count <= room)
            count = room * 2;
    }
    u->n_groups = (size_t)count;
}

static void
take_number(struct user *u, gid_t gid)
{
    u->gid = gid;
    u->name = xasprintf("%u", (unsigned)u->uid);
    u->groups = xnew_array(gid_t, 1);
    u->groups[0] = gid;
    u->n_groups = 1;
}

const struct user *
user_lookup(uid_t uid, gid_t gid)
{
    struct user *u = xnew(struct user);
    struct passwd entry, *found = NULL;
    char *buffer = NULL;
    int r = ERANGE;

    u->references = 1;
    u->uid = uid;
    for (size_t size = FIRST_BUFFER; r == ERANGE && size <= LARGEST_BUFFER; size *= 4) {
        buffer = xrealloc(buffer, size);
        r = getpwuid_r(uid, &entry, buffer, size, &found);
    }
    if (found != NULL) {
        u->is_known = true;
        u->gid = entry.pw_gid;
        u->name = xstrdup(entry.pw_name);
        take_groups(u);
    } else {
        /* getpwuid(3): these errors mean that there is no such user. After any other the
         * directory service could not be asked, and the user may well exist.
         */
        u->is_unsure = r != 0 && r != ENOENT && r != ESRCH && r != EBADF && r != EPERM;
        take_number(u, gid);
    }
    free(buffer);
    return u;
}

bool
user_is_in_group(const struct user *u, gid_t gid)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (u->groups[i] == gid)
            return true;
    return false;
}
