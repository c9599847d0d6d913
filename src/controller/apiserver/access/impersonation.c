/* SPDX-License-Identifier: Apache-2.0 */
/* The header makes an administrator somebody else, so it counts only where nobody in between
 * can have added it. The groups are those of the user and not those that were sent: acting as
 * a user must not give more than the user has. The look-up may hang in a directory service and
 * is done by a worker.
 */
#include "controller/apiserver/access/impersonation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/auth/identity.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"
#include "lib/loop/workers.h"

#define HEAD "Impersonate-"

/* One look-up of a user on a worker. */
struct impersonation_lookup {
    struct request *q;
    struct principal *principal;
    const char *name;
    const char *uid; /* as requested, or NULL */
    const char **groups;
    size_t n_groups;
    gid_t *gids; /* of `groups` */
    const struct user *user;
    struct error error;
    impersonation_fn done;
    void *arg;
};

bool
impersonation_is_asked(const struct http_request *http)
{
    const char *name, *value;
    const void *at = NULL;

    while (http_request_header_next(http, &at, &name, &value))
        if (strncasecmp(name, HEAD, sizeof(HEAD) - 1) == 0)
            return true;
    return false;
}

static bool PRINTF(2, 3) refuse(struct request *q, const char *format, ...)
{
    char words[512];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 403,
                              .reason = "Forbidden",
                              .message = arena_strdup(q->arena, words),
                          });
    return false;
}

static bool
may_impersonate(struct request *q)
{
    const struct principal *p = q->principal;
    char who[320];

    if (p->type != PRINCIPAL_ADMINISTRATOR)
        return refuse(q,
                      "%s cannot impersonate users (Impersonate-User, kubectl "
                      "--as): only administrators can",
                      principal_describe(p, who));
    if (!p->seals_headers)
        return refuse(q, HEAD "User: the client is of an earlier release, whose "
                              "requests do not prove their headers; update it, "
                              "or use the controller's socket or TLS");
    return true;
}

/* Refuses names that NSS could interpret otherwise, or that upstream uses for
 * components.
 */
static bool
is_user_name(const char *name)
{
    return name[0] != '\0' && name[0] != '@' && strpbrk(name, ", :/\t") == NULL
           && strlen(name) < 256;
}

static bool
take_header(struct impersonation_lookup *l, const char *name, const char *value)
{
    struct arena *arena = l->q->arena;

    name += sizeof(HEAD) - 1;
    if (strcasecmp(name, "User") == 0 && l->name == NULL)
        l->name = arena_strdup(arena, value);
    else if (strcasecmp(name, "Uid") == 0 && l->uid == NULL)
        l->uid = arena_strdup(arena, value);
    else if (strcasecmp(name, "Group") != 0)
        return refuse(l->q,
                      HEAD "%s: only one user, its groups and its uid can be "
                           "impersonated",
                      name);
    else if (strcmp(value, "system:authenticated") != 0) {
        if (!is_user_name(value))
            return refuse(l->q, "'%s' is not a group of users", value);
        l->groups[l->n_groups++] = arena_strdup(arena, value);
    }
    return true;
}

static bool
take_headers(struct impersonation_lookup *l, const struct http_request *http)
{
    const char *name, *value;
    const void *at = NULL;
    size_t n = 0;

    while (http_request_header_next(http, &at, &name, &value))
        n++;
    l->groups = arena_new_array(l->q->arena, const char *, n + 1);
    l->gids = arena_new_array(l->q->arena, gid_t, n + 1);
    at = NULL;
    while (http_request_header_next(http, &at, &name, &value))
        if (strncasecmp(name, HEAD, sizeof(HEAD) - 1) == 0 && !take_header(l, name, value))
            return false;
    if (l->name == NULL)
        return refuse(l->q, "the header %s is required", HEAD "User");
    return is_user_name(l->name)
           || refuse(l->q,
                     "'%s' cannot be impersonated: it is not a user, and "
                     "nobody may impersonate components and agents of Kiln",
                     l->name);
}

/* Runs on a worker. */
static void
look_up(void *arg)
{
    struct impersonation_lookup *l = arg;
    CLEANUP(policy_people_fini) struct policy_people people = {0};

    if (policy_people_add(&people, l->name, &l->error) < 0)
        return;
    for (size_t i = 0; i < l->n_groups; i++) {
        CLEANUP(policy_people_fini) struct policy_people group = {0};
        char name[260];

        snprintf(name, sizeof(name), "@%s", l->groups[i]);
        if (policy_people_add(&group, name, &l->error) < 0)
            return;
        l->gids[i] = group.gids[0];
    }
    l->user = user_lookup(people.uids[0], (gid_t)-1);
}

static bool
check_user(const struct impersonation_lookup *l)
{
    const struct user *u = l->user;
    char uid[24];

    if (u == NULL)
        return refuse(l->q, "impersonating: %s", l->error.text);
    snprintf(uid, sizeof(uid), "%u", (unsigned)u->uid);
    if (u->uid == 0 || u->uid == geteuid())
        return refuse(l->q,
                      "'%s' cannot be impersonated: nobody may impersonate "
                      "root or the controller's own user",
                      u->name);
    if (l->uid != NULL && strcmp(l->uid, uid) != 0)
        return refuse(l->q, HEAD "Uid: the user's uid is %s", uid);
    for (size_t i = 0; i < l->n_groups; i++)
        if (!user_is_in_group(u, l->gids[i]))
            return refuse(l->q,
                          HEAD "Group: the user is not in group '%s'; only "
                               "the user's own groups can be given",
                          l->groups[i]);
    return true;
}

/* Copies the user's data: a stream outlives this look-up. */
static void
become(const struct impersonation_lookup *l)
{
    struct arena *arena = l->q->arena;
    const struct user *u = l->user;
    struct principal *before = arena_alloc(arena, sizeof(*before));
    const struct identity identity = {
        .uid = u->uid,
        .gid = u->gid,
        .proof = l->principal->proof,
        .user = u,
    };

    *before = *l->principal;
    principal_of_identity(&identity, l->q->server->policy, l->principal);
    l->principal->name = arena_strdup(arena, u->name);
    l->principal->groups = arena_memdup(arena, u->groups, u->n_groups * sizeof(u->groups[0]));
    l->principal->impersonator = before;
}

static void
looked_up(void *arg)
{
    struct impersonation_lookup *l = arg;
    bool is_granted = check_user(l);

    if (is_granted)
        become(l);
    if (l->user != NULL)
        user_unref(l->user);
    l->done(is_granted, l->arg);
    free(l);
}

void
impersonation_start(struct request *q, const struct http_request *http, struct principal *principal,
                    impersonation_fn done, void *arg)
{
    struct impersonation_lookup *l = xnew(struct impersonation_lookup);

    l->q = q;
    l->principal = principal;
    l->done = done;
    l->arg = arg;
    if (may_impersonate(q) && take_headers(l, http)) {
        workers_submit(q->server->workers, q->server->loop, look_up, looked_up, l);
        return;
    }
    free(l);
    done(false, arg);
}
