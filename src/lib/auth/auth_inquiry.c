/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block (munged, the directory service) are made by a worker on copies; decisions
 * (the nonce, the cluster, the lead) are made on the loop, in one order for all requests. So
 * no lock is needed, and a credential that two requests carry at once is accepted once.
 */
#include "lib/auth/auth_inquiry.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/nonces.h"
#include "lib/auth/protocol.h"
#include "lib/auth/recent_users.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Of clocks that differ, beside the seconds by which MUNGE cuts times. */
#define LEAD_TOLERANCE_S 2

struct auth_inquiry *
auth_inquiry_new(struct auth_server *server, const struct auth_request *q, void *arg)
{
    struct auth_inquiry *i = xnew(struct auth_inquiry);
    const char *sealed = q->sealed != NULL ? q->sealed : "";
    struct digest body, headers;

    i->server = server;
    i->uid = q->uid;
    i->gid = q->gid;
    i->arg = arg;
    strbuf_init(&i->welcome);
    if (q->authorization == NULL)
        return i;
    i->text = xstrdup(strchr(q->authorization, ' ') + 1);
    i->method = xstrdup(q->method);
    i->target = xstrdup(q->target);
    i->content_type = xstrdup(q->content_type != NULL ? q->content_type : "");
    digest_of(q->body, q->length, &body);
    digest_format(&body, i->body);
    digest_of(sealed, strlen(sealed), &headers);
    digest_format(&headers, i->headers);
    return i;
}

void
auth_inquiry_free(struct auth_inquiry *i)
{
    explicit_bzero(i->welcome.text, i->welcome.length);
    strbuf_fini(&i->welcome);
    credential_fini(&i->credential);
    user_unref(i->user);
    free(i->answer);
    free(i->content_type);
    free(i->target);
    free(i->method);
    free(i->text);
    free(i);
}

/* Runs on a worker, because the lookup blocks: the system may have to ask a
 * remote directory service (NSS).
 */
static const struct user *
user_of(struct auth_server *server, uid_t uid, gid_t gid)
{
    int64_t now_us = clock_monotonic_us(server->clock);
    const struct user *user = recent_users_find(server->users, uid, gid, now_us);

    if (user == NULL) {
        user = user_lookup(uid, gid);
        recent_users_put(server->users, user, now_us);
    }
    return user;
}

/* Runs on a worker. */
void
auth_inquiry_find_out(void *arg)
{
    struct auth_inquiry *i = arg;

    if (i->text != NULL) {
        if (credential_backend_decode(i->server->means.credential_backend, i->text, &i->credential,
                                      &i->error)
            < 0)
            return;
        i->uid = i->credential.uid;
        i->gid = i->credential.gid;
    }
    i->user = user_of(i->server, i->uid, i->gid);
}

/* Each controller's munged remembers only the credentials that it has seen, so one
 * that another controller has taken could be used once more.
 */
static bool
is_from_before(const struct auth_server *server, const struct credential *c)
{
    int64_t leads_us;

    if (server->leads_since_us == INT64_MIN)
        return false;
    leads_us = clock_monotonic_us(server->clock) - server->leads_since_us;
    return c->age_s > leads_us / 1000000 + LEAD_TOLERANCE_S;
}

/* Checks what must hold for every credential before its claim is read. */
static int
check_credential(struct auth_inquiry *i)
{
    const struct credential *c = &i->credential;

    if (i->error.code != 0)
        return i->error.code;
    if (c->only_uid != i->server->own_uid)
        return error_set(&i->error, -EKEYREJECTED,
                         "the credential is readable by users other than the "
                         "controller (uid %u); configure the client with the "
                         "controller's service user",
                         (unsigned)i->server->own_uid);
    if (c->age_s > (long)PROTOCOL_TTL_S)
        return error_set(&i->error, -EKEYREJECTED,
                         "the credential is %ld seconds old, the most allowed "
                         "is %u; check the clocks (chrony) of both machines",
                         c->age_s, PROTOCOL_TTL_S);
    if (is_from_before(i->server, c))
        return error_set(&i->error, -EKEYREJECTED,
                         "the credential was made before this controller began to lead; make a "
                         "new one: try again");
    return 0;
}

/* Runs on the loop. The credential must be of this cluster, and its nonce must
 * not have been used before.
 */
static int
check_claim(struct auth_inquiry *i, const struct protocol_claim *claim)
{
    struct auth_server *server = i->server;

    if (strcmp(claim->cluster, server->means.cluster) != 0)
        return error_set(&i->error, -EKEYREJECTED,
                         "the credential is for cluster '%s', this is cluster "
                         "'%s'; check the client's configuration",
                         claim->cluster, server->means.cluster);
    if (!nonces_use(server->nonces, claim->nonce, clock_monotonic_us(server->clock)))
        return error_set(&i->error, -EKEYREJECTED,
                         "the credential has been used before; each attempt "
                         "needs a new one");
    return 0;
}

int
auth_inquiry_take_claim(struct auth_inquiry *i, enum claim_purpose purpose,
                        struct protocol_claim *ret_claim)
{
    int r = check_credential(i);

    if (r == 0
        && protocol_claim_parse(i->credential.payload, i->credential.length, purpose, ret_claim,
                                &i->error)
               < 0)
        r = i->error.code = -EKEYREJECTED;
    if (r < 0)
        return r;
    r = check_claim(i, ret_claim);
    if (r < 0)
        protocol_claim_fini(ret_claim);
    return r;
}
