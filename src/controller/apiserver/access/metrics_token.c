/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_token.c - a token that is stolen from the store is of no use, since the
 * store has its digest alone
 *
 * The token contains its name, so that a check reads one secret of the store,
 * however many tokens there are. It outlives restarts and keys, because programs
 * that collect metrics cannot log in again.
 */
#include "controller/apiserver/access/metrics_token.h"

#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"

#define HEAD      "kiln-metrics1."
#define NAME_MAX_ 63
#define KEY_BYTES 32

static const char bearer_head[] = "Bearer " HEAD;

bool
metrics_token_is_asked(const char *path)
{
    static const char head[] = "/metrics";

    return strncmp(path, head, sizeof(head) - 1) == 0
           && (path[sizeof(head) - 1] == '\0' || path[sizeof(head) - 1] == '/');
}

bool
metrics_token_is_given(const char *authorization)
{
    return authorization != NULL
           && strncmp(authorization, bearer_head, sizeof(bearer_head) - 1) == 0;
}

static bool
is_name(const char *name, size_t length)
{
    return length > 0 && length <= NAME_MAX_
           && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") >= length;
}

static void
format_secret_name(const char *name, size_t length, char out[96])
{
    snprintf(out, 96, "metrics-token/%.*s", (int)length, name);
}

static void
digest_token(const char *token, char out[DIGEST_HEX_SIZE])
{
    struct digest digest;

    digest_of(token, strlen(token), &digest);
    digest_format(&digest, out);
}

bool
metrics_token_check(const struct apiserver *server, const char *authorization,
                    enum http_method method)
{
    const char *token = authorization + strlen("Bearer ");
    const char *name = token + strlen(HEAD);
    size_t length = strcspn(name, ".");
    char secret_name[96], hex[DIGEST_HEX_SIZE];
    struct digest kept, given;
    const char *secret;

    if (method != HTTP_GET || !is_name(name, length))
        return false;
    format_secret_name(name, length, secret_name);
    secret = store_find_secret(server->store, secret_name);
    digest_token(token, hex);
    return secret != NULL && digest_parse(secret, &kept) == 0 && digest_parse(hex, &given) == 0
           && digest_equals(&kept, &given);
}

static void
refuse(struct request *q, int code, const char *reason, const char *message)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = code,
                              .reason = reason,
                              .message = message,
                          });
}

bool
metrics_token_allows(struct request *q)
{
    if (q->principal->type == PRINCIPAL_ADMINISTRATOR || q->principal->type == PRINCIPAL_OPERATOR)
        return true;
    refuse(q, 403, "Forbidden",
           "metrics can be read by administrators, by operators, and by "
           "programs with a metrics token from an administrator (kctl "
           "metrics-token)");
    return false;
}

static void
make_token(struct request *q, const char *name)
{
    unsigned char key[KEY_BYTES];
    char hex[2 * KEY_BYTES + 1], digest[DIGEST_HEX_SIZE], secret_name[96];
    struct json *tree = json_object(q->arena);
    struct store_txn *txn;
    const char *token;

    random_bytes(key, sizeof(key));
    for (unsigned i = 0; i < KEY_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    token = arena_printf(q->arena, HEAD "%s.%s", name, hex);
    digest_token(token, digest);
    format_secret_name(name, strlen(name), secret_name);
    log_info("user '%s' created the metrics token '%s'", q->principal->name, name);
    txn = store_begin(q->server->store);
    store_txn_put_secret(txn, secret_name, digest);
    json_set_string(q->arena, tree, "name", name);
    json_set_string(q->arena, tree, "token", token);
    reply_tree(&q->reply, 201, tree);
    request_commit(q, txn);
}

static void
end_token(struct request *q, const char *name)
{
    char secret_name[96];
    struct store_txn *txn;

    format_secret_name(name, strlen(name), secret_name);
    if (store_find_secret(q->server->store, secret_name) == NULL) {
        refuse(q, 404, "NotFound", arena_printf(q->arena, "there is no metrics token '%s'", name));
        request_finish(q);
        return;
    }
    log_info("user '%s' revoked the metrics token '%s'", q->principal->name, name);
    txn = store_begin(q->server->store);
    store_txn_remove_secret(txn, secret_name);
    reply_success(&q->reply, 200);
    request_commit(q, txn);
}

bool
metrics_token_serve(struct request *q, const char *path, const char *name, bool is_safe)
{
    if (strcmp(path, "/kiln/v1/metrics-token") != 0)
        return false;
    if (q->principal->type != PRINCIPAL_ADMINISTRATOR)
        refuse(q, 403, "Forbidden", "only administrators create and revoke metrics tokens");
    else if (name == NULL || !is_name(name, strlen(name)))
        refuse(q, 400, "BadRequest",
               "the name of a token consists of lower-case letters, digits "
               "and '-', as in ?name=prometheus");
    else if (q->method == HTTP_DELETE) {
        end_token(q, name);
        return true;
    } else if (q->method != HTTP_POST)
        refuse(q, 405, "MethodNotAllowed", "create a token with POST, or revoke it with DELETE");
    else if (!is_safe)
        refuse(q, 403, "Forbidden",
               "a token is never sent unencrypted: create it on the "
               "controller's machine, through its socket");
    else {
        make_token(q, name);
        return true;
    }
    request_finish(q);
    return true;
}
