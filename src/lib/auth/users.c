/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/users.h"

#include <stdio.h>

#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define GOOD_FOR_US (INT64_C(300) * 1000 * 1000)
#define MOST_USERS  65536u

struct entry {
    const struct user *user;
    int64_t since_us;
};

struct users {
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
entry_free(struct entry *entry)
{
    if (entry == NULL)
        return;
    user_unref(entry->user);
    free(entry);
}

static void
forget_all(struct users *u)
{
    size_t at = 0;
    void *entry;

    while (map_next(u->by_uid, &at, NULL, &entry))
        entry_free(entry);
    map_clear(u->by_uid);
}

void
users_free(struct users *u)
{
    if (u == NULL)
        return;
    forget_all(u);
    map_free(u->by_uid);
    free(u);
}

struct users *
users_new(void)
{
    struct users *u = xnew(struct users);

    u->by_uid = map_new();
    return u;
}

void
users_put(struct users *u, const struct user *user, int64_t now_us)
{
    struct entry *entry = xnew(struct entry);
    char key[KEY_SIZE];

    if (map_count(u->by_uid) >= MOST_USERS)
        forget_all(u);
    entry->user = user_ref(user);
    entry->since_us = now_us;
    entry_free(map_put(u->by_uid, key_of(user->uid, key), entry));
}

const struct user *
users_find(const struct users *u, uid_t uid, int64_t now_us)
{
    char key[KEY_SIZE];
    const struct entry *entry = map_find(u->by_uid, key_of(uid, key));

    if (entry == NULL || now_us - entry->since_us > GOOD_FOR_US)
        return NULL;
    return entry->user;
}
