/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/token_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/auth/bearer_tokens.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/protocol.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/loop/workers.h"

/* A token that is being put into a credential. */
struct handout {
    struct request *q;
    char token[BEARER_TOKEN_SIZE];
    int64_t ends_at_s;
    char *credential;
    struct error error;
};

static void
refuse(struct request *q, int code, const char *reason, const char *message)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = code,
                              .reason = reason,
                              .message = message,
                          });
    request_finish(q);
}

static void
serve_access(struct request *q)
{
    const struct token_endpoint *a = q->server->token_endpoint;
    struct json *tree = json_object(q->arena);

    json_set_string(q->arena, tree, "cluster", a->cluster);
    json_set_string(q->arena, tree, "certificateAuthority", a->authority->text);
    json_set_int(q->arena, tree, "port", http_server_layered_port(q->server->http));
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}

static void
hand_out(struct handout *h, const char *name, const char *value)
{
    struct request *q = h->q;
    struct json *tree = json_object(q->arena);
    char ends[TIME_TEXT_SIZE];

    time_format(h->ends_at_s * 1000000, false, ends);
    json_set_string(q->arena, tree, name, value);
    json_set_string(q->arena, tree, "expirationTimestamp", ends);
    reply_tree(&q->reply, 201, tree);
    request_finish(q);
}

static void
handout_free(struct handout *h)
{
    explicit_bzero(h->token, sizeof(h->token));
    free(h->credential);
    free(h);
}

/* Runs on a worker. */
static void
wrap(void *arg)
{
    struct handout *h = arg;

    credential_backend_encode(h->q->server->token_endpoint->credential_backend, h->token,
                              strlen(h->token), h->q->principal->uid, PROTOCOL_TTL_S,
                              &h->credential, &h->error);
}

static void
wrapped(void *arg)
{
    struct handout *h = arg;

    if (h->credential != NULL)
        hand_out(h, "credential", h->credential);
    else {
        reply_errno(&h->q->reply, h->error.code, &h->error);
        request_finish(h->q);
    }
    handout_free(h);
}

static bool
may_have_token(struct request *q)
{
    const struct principal *p = q->principal;

    if (p->impersonator != NULL) {
        refuse(q, 403, "Forbidden", "a token is given only to its own user, not by impersonation");
        return false;
    }
    if (p->proof == IDENTITY_TOKEN) {
        refuse(q, 403, "Forbidden", "a token cannot be used to get a new token");
        return false;
    }
    if (principal_is_person(p))
        return true;
    refuse(q, 403, "Forbidden",
           "tokens are for users: agents use their node secrets, and root of "
           "another machine has no rights here");
    return false;
}

static void
serve_token(struct request *q)
{
    const struct token_endpoint *a = q->server->token_endpoint;
    struct handout *h;
    char name[BEARER_TOKEN_NAME_SIZE];

    if (!may_have_token(q))
        return;
    h = xnew(struct handout);
    h->q = q;
    bearer_tokens_issue(a->bearer, q->principal->uid, q->principal->gid, a->lifetime_s, h->token,
                        &h->ends_at_s);
    bearer_token_name(h->token, name);
    log_info("user '%s' was given a token, %s", q->principal->name, name);
    if (q->principal->proof == IDENTITY_LOCAL) {
        hand_out(h, "token", arena_strdup(q->arena, h->token));
        handout_free(h);
        return;
    }
    workers_submit(q->server->workers, q->server->loop, wrap, wrapped, h);
}

bool
token_endpoint_serve(struct request *q, const char *path)
{
    bool is_token = strcmp(path, "/kiln/v1/token") == 0;

    if (!is_token && strcmp(path, "/kiln/v1/access") != 0)
        return false;
    if (q->server->token_endpoint->bearer == NULL)
        refuse(q, 404, "NotFound",
               "this controller does not serve TLS (--listen-tls, or "
               "tls.listen in its configuration)");
    else if (q->method != (is_token ? HTTP_POST : HTTP_GET))
        refuse(q, 405, "MethodNotAllowed",
               is_token ? "ask for a token with POST" : "this is read with GET");
    else if (is_token)
        serve_token(q);
    else
        serve_access(q);
    return true;
}
