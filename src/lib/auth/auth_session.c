/* SPDX-License-Identifier: Apache-2.0 */
/* Sequence numbers only rise, so nothing about a session has to be stored but the last one,
 * and a request that is repeated by somebody else is refused. The number counts only after the
 * MAC was right: otherwise anybody could use up the numbers of a session.
 */
#include "lib/auth/auth_session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/random.h"

struct auth_session *
auth_session_new(size_t *count, const struct user *user, uid_t uid, gid_t gid, int64_t ends_at_us)
{
    struct auth_session *s = xnew(struct auth_session);

    s->references = 1;
    s->count = count;
    (*count)++;
    protocol_nonce(s->id);
    random_bytes(s->key.bytes, DIGEST_SIZE);
    s->ends_at_us = ends_at_us;
    s->identity.uid = uid;
    s->identity.gid = gid;
    s->identity.proof = IDENTITY_SESSION;
    s->identity.user = user_ref(user);
    return s;
}

struct auth_session *
auth_session_ref(struct auth_session *s)
{
    s->references++;
    return s;
}

void
auth_session_free(void *session)
{
    struct auth_session *s = session;

    if (s == NULL || --s->references > 0)
        return;
    (*s->count)--;
    user_unref(s->identity.user);
    explicit_bzero(s, sizeof(*s));
    free(s);
}

const struct identity *
auth_session_identity(const struct auth_session *session)
{
    return &session->identity;
}

static int
check_mac(const struct auth_session *s, const struct auth_request *q,
          const struct protocol_authorization *given, struct error *err)
{
    struct digest body, mac;

    digest_of(q->body, q->length, &body);
    protocol_request_mac(&s->key, given->seq, q->method, q->target, q->content_type, &body,
                         given->is_sealed ? (q->sealed != NULL ? q->sealed : "") : NULL, &mac);
    if (digest_equals(&mac, &given->mac))
        return 0;
    return error_set(err, -EKEYREJECTED,
                     "the request's MAC does not match the received request; "
                     "something between client and controller changed it");
}

int
auth_session_check(struct auth_session *s, const struct auth_request *q, int64_t now_us,
                   struct error *err)
{
    struct protocol_authorization given;
    int r;

    if (protocol_parse_authorization(q->authorization, &given) < 0)
        return error_set(err, -EKEYREJECTED,
                         "malformed Authorization header (expected 'Kiln "
                         "session=ID,seq=N,mac=HEX')");
    if (given.session_length != strlen(s->id)
        || memcmp(given.session, s->id, given.session_length) != 0)
        return error_set(err, -EKEYREJECTED,
                         "the session belongs to another connection; a "
                         "session ends with the connection that opened it");
    if (now_us >= s->ends_at_us)
        return error_set(err, -EKEYREJECTED, "the session has expired; open a new one");
    r = check_mac(s, q, &given, err);
    if (r < 0)
        return r;
    /* Only now, so that nobody without the key can use the numbers of a session up. */
    if (given.seq <= s->last_seq)
        return error_set(err, -EKEYREJECTED,
                         "sequence number %" PRIu64 " has been used before "
                         "(the last was %" PRIu64 "); the request was "
                         "replayed",
                         given.seq, s->last_seq);
    s->last_seq = given.seq;
    s->is_sealed = given.is_sealed;
    return 0;
}
