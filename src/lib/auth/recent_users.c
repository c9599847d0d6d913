/* SPDX-License-Identifier: Apache-2.0 */
/* recent_users.c - asking for a user may take seconds (LDAP), and every request
 * needs one
 *
 * A full cache drops everything, because an order by use would make each reader
 * write, and no site has so many users at a time. Five minutes is how long a user
 * keeps the rights of a group that he was removed from.
 */
#include "lib/auth/recent_users.h"

#include <pthread.h>
#include <stdio.h>

#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define GOOD_FOR_US (INT64_C(300) * 1000 * 1000)
#define MOST_USERS  65536u

struct recent_user {
    const struct user *user;
    int64_t since_us;
};

struct recent_users {
    pthread_mutex_t lock;
    struct map *by_uid;
};

#define KEY_SIZE 12

static const char *
key_of(uid_t uid, char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, "%u", (unsigned)uid);
    return out;
}

static void
entry_free(struct recent_user *entry)
{
    if (entry == NULL)
        return;
    user_unref(entry->user);
    free(entry);
}

static void
forget_all(struct recent_users *u)
{
    size_t at = 0;
    void *entry;

    while (map_next(u->by_uid, &at, NULL, &entry))
        entry_free(entry);
    map_clear(u->by_uid);
}

void
recent_users_free(struct recent_users *u)
{
    if (u == NULL)
        return;
    forget_all(u);
    map_free(u->by_uid);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

struct recent_users *
recent_users_new(void)
{
    struct recent_users *u = xnew(struct recent_users);

    pthread_mutex_init(&u->lock, NULL);
    u->by_uid = map_new();
    return u;
}

void
recent_users_put(struct recent_users *u, const struct user *user, int64_t now_us)
{
    struct recent_user *entry = xnew(struct recent_user);
    char key[KEY_SIZE];

    entry->user = user_ref(user);
    entry->since_us = now_us;
    pthread_mutex_lock(&u->lock);
    if (map_count(u->by_uid) >= MOST_USERS)
        forget_all(u);
    entry_free(map_put(u->by_uid, key_of(user->uid, key), entry));
    pthread_mutex_unlock(&u->lock);
}

static bool
is_good(const struct recent_user *entry, gid_t gid, int64_t now_us)
{
    return entry != NULL && now_us - entry->since_us <= GOOD_FOR_US
           && (entry->user->is_known || entry->user->gid == gid);
}

const struct user *
recent_users_find(struct recent_users *u, uid_t uid, gid_t gid, int64_t now_us)
{
    const struct user *user = NULL;
    const struct recent_user *entry;
    char key[KEY_SIZE];

    pthread_mutex_lock(&u->lock);
    entry = map_find(u->by_uid, key_of(uid, key));
    if (is_good(entry, gid, now_us))
        user = user_ref(entry->user);
    pthread_mutex_unlock(&u->lock);
    return user;
}
