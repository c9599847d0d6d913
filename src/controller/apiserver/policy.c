/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/policy.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define BUFFER_SIZE (64 * 1024) /* of a group with many members */

static int
add_group(struct policy_people *people, const char *name, struct error *err)
{
    CLEANUP_FREE char *buffer = xmalloc(BUFFER_SIZE);
    struct group group, *found = NULL;

    getgrnam_r(name, &group, buffer, BUFFER_SIZE, &found);
    if (found == NULL)
        return error_set(err, -ENOENT, "no group '%s'", name);
    people->gids =
        xrealloc_array(people->gids, people->n_gids + 1, sizeof(*people->gids));
    people->gids[people->n_gids++] = found->gr_gid;
    return 0;
}

static int
add_user(struct policy_people *people, const char *name, struct error *err)
{
    CLEANUP_FREE char *buffer = xmalloc(BUFFER_SIZE);
    struct passwd user, *found = NULL;

    getpwnam_r(name, &user, buffer, BUFFER_SIZE, &found);
    if (found == NULL)
        return error_set(err, -ENOENT, "no user '%s'", name);
    people->uids =
        xrealloc_array(people->uids, people->n_uids + 1, sizeof(*people->uids));
    people->uids[people->n_uids++] = found->pw_uid;
    return 0;
}

int
policy_people_add(struct policy_people *people,
                  const char *names,
                  struct error *err)
{
    CLEANUP_FREE char *copy = xstrdup(names);
    char *rest = copy;
    char *name;
    int first = 0;

    while ((name = strsep(&rest, ", ")) != NULL) {
        struct error *words = first == 0 ? err : NULL;
        int r = 0;

        if (name[0] == '@')
            r = add_group(people, name + 1, words);
        else if (name[0] != '\0')
            r = add_user(people, name, words);
        if (first == 0)
            first = r;
    }
    return first;
}

void
policy_people_fini(struct policy_people *people)
{
    free(people->uids);
    free(people->gids);
    memset(people, 0, sizeof(*people));
}

bool
policy_people_has(const struct policy_people *people,
                  uid_t uid,
                  const gid_t *groups,
                  size_t n_groups)
{
    for (size_t i = 0; i < people->n_uids; i++)
        if (people->uids[i] == uid)
            return true;
    for (size_t i = 0; i < people->n_gids; i++)
        for (size_t k = 0; k < n_groups; k++)
            if (people->gids[i] == groups[k])
                return true;
    return false;
}
