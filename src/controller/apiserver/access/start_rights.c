/* SPDX-License-Identifier: Apache-2.0 */
/* A job may wait for weeks, and rights are taken away meanwhile. Names are worthless by then:
 * a user, partition or reservation that was deleted and made again under its old name is
 * another one. So uids that were noted at admission are compared, and the user database is
 * asked again before a pod starts (decision 556).
 *
 * Two callers ask. The scheduler asks often and must not wait, so it gets what was found last;
 * the binding, which decides, waits for an answer that is younger than a minute. When the
 * directory does not answer, its last word holds: an outage must not hold all jobs of a site.
 */
#include "controller/apiserver/access/start_rights.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/policy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"

#define FRESH_US    (INT64_C(60) * 1000000)
#define UNSURE_US   (INT64_C(5) * 1000000)
#define USERS_MAX   100000u
#define NAME_LENGTH 64u
#define UID_LENGTH  40u
#define NUMBER_SIZE 24

struct start_rights {
    struct start_rights_settings settings;
    pthread_mutex_t lock; /* guards `users` and its entries */
    struct map *users;    /* by number */
};

struct known_user {
    const struct user *user; /* NULL: never found out */
    int64_t at_us;
    bool is_asked; /* a look-up is under way that no binding waits for */
};

struct start_rights_lookup {
    struct start_rights *rights;
    const struct user *user;
    uid_t uid;
    void (*done)(void *arg); /* or NULL */
    void *arg;
};

/* ---- Life ---- */

static void
known_user_free(struct known_user *k)
{
    if (k == NULL)
        return;
    user_unref(k->user);
    free(k);
}

static void
forget_all(struct start_rights *r)
{
    size_t at = 0;
    void *k;

    while (map_next(r->users, &at, NULL, &k))
        known_user_free(k);
    map_free(r->users);
    r->users = map_new();
}

struct start_rights *
start_rights_new(const struct start_rights_settings *settings)
{
    struct start_rights *r = xnew(struct start_rights);

    r->settings = *settings;
    if (r->settings.look_up == NULL)
        r->settings.look_up = user_lookup;
    r->users = map_new();
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void
start_rights_free(struct start_rights *r)
{
    if (r == NULL)
        return;
    forget_all(r);
    map_free(r->users);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- Look-ups ---- */

static const char *
key_of(uid_t uid, char buffer[NUMBER_SIZE])
{
    snprintf(buffer, NUMBER_SIZE, "%u", (unsigned)uid);
    return buffer;
}

/* On a worker. */
static void
look_up(void *arg)
{
    struct start_rights_lookup *l = arg;

    l->user = l->rights->settings.look_up(l->uid, (gid_t)-1);
}

/* While the database does not answer, what it said last holds. */
static void
note_user(struct start_rights *r, const struct user *user)
{
    char buffer[NUMBER_SIZE];
    const char *key = key_of(user->uid, buffer);
    struct known_user *k;

    pthread_mutex_lock(&r->lock);
    k = map_find(r->users, key);
    if (k == NULL) {
        if (map_count(r->users) >= USERS_MAX)
            forget_all(r);
        k = xnew(struct known_user);
        map_put(r->users, key, k);
    }
    k->is_asked = false;
    k->at_us = clock_monotonic_us(r->settings.clock);
    if (k->user == NULL || !user->is_unsure) {
        user_unref(k->user);
        k->user = user_ref(user);
    }
    if (user->is_unsure)
        k->at_us -= FRESH_US - UNSURE_US;
    pthread_mutex_unlock(&r->lock);
}

static void
looked_up(void *arg)
{
    struct start_rights_lookup *l = arg;

    note_user(l->rights, l->user);
    user_unref(l->user);
    if (l->done != NULL)
        l->done(l->arg);
    free(l);
}

static void
submit(struct start_rights *r, uid_t uid, void (*done)(void *arg), void *arg)
{
    struct start_rights_lookup *l = xnew(struct start_rights_lookup);

    l->rights = r;
    l->uid = uid;
    l->done = done;
    l->arg = arg;
    workers_submit(r->settings.workers, r->settings.loop, look_up, looked_up, l);
}

static bool
is_fresh(const struct start_rights *r, const struct known_user *k)
{
    return clock_monotonic_us(r->settings.clock) - k->at_us < FRESH_US;
}

/* ---- The owner ---- */

/* Finds who submitted the pod. False: there is nobody to check. */
static bool
find_owner(const struct pod *pod, uid_t *ret_uid, const char **ret_name)
{
    const struct security_context *who = pod->spec.security_context;

    *ret_name = string_map_find(&pod->meta.annotations, ANNOTATION_USER);
    if (*ret_name == NULL || who == NULL || who->run_as_user == NULL)
        return false;
    *ret_uid = (uid_t)*who->run_as_user;
    return true;
}

/* A reference, or NULL. A record that refuses is renewed when it has aged. */
static const struct user *
find_user(struct start_rights *r, uid_t uid, bool *ret_is_fresh)
{
    char buffer[NUMBER_SIZE];
    const struct user *user = NULL;
    struct known_user *k;
    bool must_ask = false;

    pthread_mutex_lock(&r->lock);
    k = map_find(r->users, key_of(uid, buffer));
    if (k != NULL && k->user != NULL) {
        user = user_ref(k->user);
        *ret_is_fresh = is_fresh(r, k);
        must_ask = !*ret_is_fresh && !k->is_asked;
        k->is_asked |= must_ask;
    }
    pthread_mutex_unlock(&r->lock);
    if (must_ask)
        submit(r, uid, NULL, NULL);
    return user;
}

static bool
refuse_owner(const struct user *user, const char *name, struct strbuf *why)
{
    if (strcmp(user->name, name) == 0)
        return false;
    if (user->is_unsure)
        strbuf_printf(why, "the user database does not answer whether uid %u is still user %s",
                      (unsigned)user->uid, name);
    else if (user->is_known)
        strbuf_printf(why,
                      "uid %u was user %s when the job was submitted, and is user %s now; "
                      "nothing starts for that uid",
                      (unsigned)user->uid, name, user->name);
    else
        strbuf_printf(why, "user %s (uid %u) no longer exists", name, (unsigned)user->uid);
    return true;
}

/* ---- Partitions and Reservations ---- */

static bool
is_administrator(const struct start_rights *r, const struct user *user)
{
    bool is_one;

    policy_begin_reading();
    is_one = user->uid == 0
             || policy_people_has(&r->settings.policy->administrators, user->uid, user->groups,
                                  user->n_groups);
    policy_end_reading();
    return is_one;
}

/* The uid at the place in the list. False: it has none. */
static bool
find_uid(const char *uids, unsigned place, char ret_uid[UID_LENGTH])
{
    const char *at = uids;
    size_t n;

    for (; place > 0; place--) {
        at = strchr(at, ',');
        if (at++ == NULL)
            return false;
    }
    n = strcspn(at, ", ");
    if (n == 0 || n >= UID_LENGTH)
        return false;
    memcpy(ret_uid, at, n);
    ret_uid[n] = '\0';
    return true;
}

static unsigned
place_of(const struct pod *pod, const char *name)
{
    const struct placement *p = pod->spec.placement;
    unsigned place = 0;
    size_t n;

    for (const char *at = p != NULL && p->partition != NULL ? p->partition : "";
         (n = partition_next_name(&at)) > 0; at += n, place++)
        if (strlen(name) == n && strncmp(name, at, n) == 0)
            return place;
    return 0;
}

/* The kinds of places that say who may be admitted, and the annotation of a pod that has the uids
 * of those that it names. It has one uid for each name where a pod may name several.
 */
static const struct place {
    const struct kind *kind;
    const char *note;
    bool are_several;
    size_t members; /* in the settings */
} places[] = {
    {&partition_kind, ANNOTATION_PARTITION_UID, true,
     offsetof(struct start_rights_settings, partitions)},
    {&reservation_kind, ANNOTATION_RESERVATION_UID, false,
     offsetof(struct start_rights_settings, reservations)},
};

static const struct place *
find_place(const struct kind *kind)
{
    unsigned i = 0;

    while (i < ARRAY_SIZE(places) - 1 && places[i].kind != kind)
        i++;
    return &places[i];
}

static enum membership_answer
ask(struct start_rights *r, const struct pod *pod, const struct user *user, const struct kind *kind,
    const char *name, struct strbuf *why)
{
    const struct place *place = find_place(kind);
    const char *uids = string_map_find(&pod->meta.annotations, place->note);
    char uid[UID_LENGTH];
    struct membership_question q = {
        .place = name,
        .user = user,
        .account = pod->meta.namespace != NULL ? pod->meta.namespace : "",
    };

    if (uids != NULL) {
        if (find_uid(uids, place->are_several ? place_of(pod, name) : 0, uid))
            q.uid = uid;
        q.skips_people = strstr(uids, ADMITTED_BY_ADMINISTRATOR) != NULL;
    }
    q.skips_people |= user != NULL && is_administrator(r, user);
    return membership_check(
        *(struct membership *const *)((const char *)&r->settings + place->members), &q, why);
}

static enum membership_answer
ask_account(struct start_rights *r, const struct pod *pod, const struct user *user,
            struct strbuf *why)
{
    return membership_check(r->settings.accounts,
                            &(struct membership_question){
                                .place = pod->meta.namespace,
                                .user = user,
                                .skips_people = user != NULL && is_administrator(r, user),
                                .account = "",
                            },
                            why);
}

/* A pod without a mark has the default class, or is of an earlier release. */
static enum membership_answer
ask_class(struct start_rights *r, const struct pod *pod, const struct user *user,
          struct strbuf *why)
{
    const char *mark = string_map_find(&pod->meta.annotations, ANNOTATION_CLASS_UID);
    char uid[UID_LENGTH];

    if (mark == NULL || pod->spec.priority_class_name == NULL || pod->spec.priority == NULL)
        return MEMBERSHIP_YES;
    return membership_check(r->settings.classes,
                            &(struct membership_question){
                                .place = pod->spec.priority_class_name,
                                .uid = find_uid(mark, 0, uid) ? uid : NULL,
                                .user = user,
                                .skips_people = strstr(mark, ADMITTED_BY_ADMINISTRATOR) != NULL
                                                || (user != NULL && is_administrator(r, user)),
                                .account = pod->meta.namespace,
                                .priority = *pod->spec.priority,
                            },
                            why);
}

/* ---- Decisions ---- */

bool
start_rights_refuse(struct start_rights *r, const struct pod *pod, const struct kind *kind,
                    const char *name, struct strbuf *why)
{
    const char *owner;
    const struct user *user;
    bool is_refused, is_owner_fresh = false;
    uid_t uid;

    if (!find_owner(pod, &uid, &owner))
        return false;
    user = find_user(r, uid, &is_owner_fresh);
    if (kind == NULL)
        is_refused = (user != NULL && refuse_owner(user, owner, why))
                     || ask_account(r, pod, user, why) == MEMBERSHIP_NO
                     || ask_class(r, pod, user, why) == MEMBERSHIP_NO;
    else
        is_refused = ask(r, pod, user, kind, name, why) == MEMBERSHIP_NO;
    user_unref(user);
    return is_refused;
}

/* One of the partitions is enough. */
static enum membership_answer
ask_partitions(struct start_rights *r, const struct pod *pod, const struct user *user,
               struct strbuf *why)
{
    enum membership_answer best = MEMBERSHIP_NO;
    char name[NAME_LENGTH];
    size_t n;

    for (const char *at = pod->spec.placement->partition; (n = partition_next_name(&at)) > 0;
         at += n) {
        enum membership_answer answer;

        if (n >= sizeof(name))
            continue;
        memcpy(name, at, n);
        name[n] = '\0';
        strbuf_truncate(why, 0);
        answer = ask(r, pod, user, &partition_kind, name, why);
        if (answer == MEMBERSHIP_YES)
            return answer;
        if (answer == MEMBERSHIP_UNKNOWN)
            best = answer;
    }
    return best;
}

static enum membership_answer
ask_all(struct start_rights *r, const struct pod *pod, const struct user *user, struct strbuf *why)
{
    const struct placement *p = pod->spec.placement;
    enum membership_answer answer = ask_account(r, pod, user, why);

    if (answer == MEMBERSHIP_YES)
        answer = ask_class(r, pod, user, why);
    if (answer == MEMBERSHIP_YES && p != NULL && p->partition != NULL && p->partition[0] != '\0')
        answer = ask_partitions(r, pod, user, why);
    if (answer == MEMBERSHIP_YES && p != NULL && p->reservation != NULL
        && p->reservation[0] != '\0')
        answer = ask(r, pod, user, &reservation_kind, p->reservation, why);
    return answer;
}

bool
start_rights_bind(struct start_rights *r, const struct pod *pod, struct strbuf *why)
{
    enum membership_answer answer = MEMBERSHIP_UNKNOWN;
    const struct user *user;
    const char *owner;
    bool is_fresh_user = false;
    uid_t uid;

    if (!find_owner(pod, &uid, &owner))
        return true;
    user = find_user(r, uid, &is_fresh_user);
    if (user != NULL && is_fresh_user)
        answer = refuse_owner(user, owner, why) ? MEMBERSHIP_NO : ask_all(r, pod, user, why);
    user_unref(user);
    if (answer == MEMBERSHIP_UNKNOWN)
        strbuf_printf(why, "the rights of user %s are being looked up", owner);
    return answer == MEMBERSHIP_YES;
}

bool
start_rights_look_up(struct start_rights *r, const struct pod *pod, void (*done)(void *arg),
                     void *arg)
{
    char buffer[NUMBER_SIZE];
    const struct known_user *k;
    const char *owner;
    bool is_known;
    uid_t uid;

    if (!find_owner(pod, &uid, &owner))
        return false;
    pthread_mutex_lock(&r->lock);
    k = map_find(r->users, key_of(uid, buffer));
    is_known = k != NULL && k->user != NULL && is_fresh(r, k);
    pthread_mutex_unlock(&r->lock);
    if (!is_known)
        submit(r, uid, done, arg);
    return !is_known;
}
