/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/local/on_behalf.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/auth/identity.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/loop/workers.h"

struct behalf_lookup {
    struct request *q;
    uid_t uid;
    const struct user *user;
    void (*begin)(struct request *q);
};

/* Runs on a worker. */
static void
look_up(void *arg)
{
    struct behalf_lookup *l = arg;

    l->user = user_lookup(l->uid, (gid_t)-1);
}

/* Copies the groups and the name, because the request outlives the look-up. */
static void
become(struct request *q, const struct user *u)
{
    struct principal *principal = arena_alloc(q->arena, sizeof(*principal));
    const struct identity identity = {
        .uid = u->uid,
        .gid = u->gid,
        .proof = IDENTITY_LOCAL,
        .user = u,
    };

    principal_of_identity(&identity, q->server->policy, principal);
    principal->name = arena_strdup(q->arena, u->name);
    principal->groups = arena_memdup(q->arena, u->groups, u->n_groups * sizeof(u->groups[0]));
    q->principal = principal;
}

static void
looked_up(void *arg)
{
    struct behalf_lookup *l = arg;
    struct request *q = l->q;
    const struct user *u = l->user;
    void (*begin)(struct request *) = l->begin;
    bool is_granted = u->is_known;

    if (is_granted)
        become(q, u);
    else
        reply_fail(&q->reply,
                   &(struct reply_failure){
                       .code = 403,
                       .reason = "Forbidden",
                       .message = arena_printf(q->arena,
                                               "the owner, uid %u, is no longer a user of this "
                                               "system: nothing is created for that uid",
                                               (unsigned)l->uid),
                   });
    user_unref(u);
    free(l);
    if (is_granted && user_limits_take_request(q))
        begin(q);
    else
        request_finish(q);
}

void
on_behalf_start(struct request *q, uid_t uid, void (*begin)(struct request *q))
{
    struct behalf_lookup *l = xnew(struct behalf_lookup);

    l->q = q;
    l->uid = uid;
    l->begin = begin;
    workers_submit(q->server->workers, q->server->loop, look_up, looked_up, l);
}
