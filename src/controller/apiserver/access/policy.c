/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/policy.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define FIRST_BYTES 16          /* most look-ups grow it, which tests the growing */
#define MOST_BYTES  (64u << 20) /* for a group with very many members */

const char *const policy_impossible_words[] = {
    [IMPOSSIBLE_WARN] = "warn",
    [IMPOSSIBLE_REFUSE] = "refuse",
    [IMPOSSIBLE_ACCEPT] = "accept",
    NULL,
};

/* The system's answer about a name; one struct for users and groups. */
struct policy_name {
    const char *kind;
    const char *name;
    bool is_group;
    bool is_found;
    unsigned id;
};

static int
ask(struct policy_name *n, char *buffer, size_t size)
{
    struct group group, *as_group = NULL;
    struct passwd user, *as_user = NULL;
    int r = n->is_group ? getgrnam_r(n->name, &group, buffer, size, &as_group)
                        : getpwnam_r(n->name, &user, buffer, size, &as_user);

    n->is_found = as_group != NULL || as_user != NULL;
    if (as_group != NULL)
        n->id = as_group->gr_gid;
    else if (as_user != NULL)
        n->id = as_user->pw_uid;
    return r;
}

static int
look_up(struct policy_name *n, struct error *err)
{
    CLEANUP_FREE char *buffer = NULL;
    int r = ERANGE;

    for (size_t size = FIRST_BYTES; r == ERANGE && size <= MOST_BYTES; size *= 4) {
        buffer = xrealloc(buffer, size);
        r = ask(n, buffer, size);
    }
    if (n->is_found)
        return 0;
    /* POSIX allows several results for an unknown name. */
    if (r == 0 || r == ENOENT || r == ESRCH || r == EBADF || r == EPERM)
        return error_set(err, -ENOENT, "no %s '%s'", n->kind, n->name);
    return error_set(err, -r, "cannot look up the %s '%s': %s", n->kind, n->name, strerror(r));
}

int
policy_find_name(const char *name, bool is_group, struct error *err)
{
    struct policy_name n = {
        .kind = is_group ? "group" : "user",
        .name = name,
        .is_group = is_group,
    };

    return look_up(&n, err);
}

static int
add_group(struct policy_people *people, const char *name, struct error *err)
{
    struct policy_name n = {.kind = "group", .name = name, .is_group = true};
    int r = look_up(&n, err);

    if (r < 0)
        return r;
    people->gids = xrealloc_array(people->gids, people->n_gids + 1, sizeof(*people->gids));
    people->gids[people->n_gids++] = n.id;
    return 0;
}

static int
add_user(struct policy_people *people, const char *name, struct error *err)
{
    struct policy_name n = {.kind = "user", .name = name};
    int r = look_up(&n, err);

    if (r < 0)
        return r;
    people->uids = xrealloc_array(people->uids, people->n_uids + 1, sizeof(*people->uids));
    people->uids[people->n_uids++] = n.id;
    return 0;
}

/* A reload replaces the policy while the scheduler's thread may check a right. */
static pthread_rwlock_t replacing = PTHREAD_RWLOCK_INITIALIZER;

void
policy_replace(struct policy *policy, const struct policy *by)
{
    pthread_rwlock_wrlock(&replacing);
    *policy = *by;
    pthread_rwlock_unlock(&replacing);
}

void
policy_begin_reading(void)
{
    pthread_rwlock_rdlock(&replacing);
}

void
policy_end_reading(void)
{
    pthread_rwlock_unlock(&replacing);
}

int
policy_people_add(struct policy_people *people, const char *names, struct error *err)
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
policy_people_has(const struct policy_people *people, uid_t uid, const gid_t *groups,
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
