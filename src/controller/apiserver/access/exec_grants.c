/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/exec_grants.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/node_verifier.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/digest.h"
#include "lib/auth/exec_grant.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static bool
refuse_pod(struct request *q, const char *why)
{
    reply_conflict(&q->reply, &pod_kind, "/exec-grant", q->route.name, "%s", why);
    return false;
}

static bool
runs(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0'
           && pod->meta.deleted_at_us == 0 && pod->status.phase != NULL
           && strcmp(pod->status.phase, "Running") == 0;
}

/* Root of one machine is not root of another one, and administrators are not root. */
static bool
check_pod(struct request *q, const struct pod *pod)
{
    const struct security_context *who = pod->spec.security_context;

    if (!runs(pod))
        return refuse_pod(q, "the pod does not run");
    if (who == NULL || who->run_as_user == NULL || *who->run_as_user <= 0
        || *who->run_as_user >= UINT32_MAX)
        return refuse_pod(q, "the pod runs as root, and a grant gives nobody the rights of root");
    return true;
}

/* A dry run would leave no line in the audit log. */
static bool
check_request(struct request *q, int64_t *ret_count)
{
    struct digest key;
    const char *hex = json_get_text(q->body, "key");

    *ret_count = json_get_int(q->body, "count", 1);
    if (q->options.is_dry_run)
        reply_bad_request(&q->reply, "a grant is made or not; there is no dry run of it");
    else if (hex == NULL || digest_parse(hex, &key) < 0)
        reply_bad_request(&q->reply, "'key' must be an X25519 public key of 64 hexadecimal digits");
    else if (*ret_count < 1 || *ret_count > (int64_t)EXEC_GRANTS_MOST)
        reply_bad_request(&q->reply, "'count' must be from 1 to %u", EXEC_GRANTS_MOST);
    else
        return true;
    return false;
}

static const char *
name_asker(const struct request *q)
{
    const struct principal *p = q->principal;

    return p->impersonator != NULL
               ? arena_printf(q->arena, "%s as %s", p->impersonator->name, p->name)
               : p->name;
}

static bool
answer(struct request *q, const struct pod *pod, int64_t count)
{
    struct json *tree = json_object(q->arena), *grants;
    char key[DIGEST_HEX_SIZE];
    struct digest verifier;
    struct error err = {0};
    const struct exec_grant grant = {
        .cluster = q->server->cluster,
        .node = pod->spec.node_name,
        .pod = pod->meta.uid,
        .by = name_asker(q),
        .key = json_get_text(q->body, "key"),
        .uid = (uid_t)*pod->spec.security_context->run_as_user,
        .issued_ms = clock_real_us(q->server->clock) / 1000,
    };

    if (!node_verifier_find(q->server->store, grant.node, &verifier))
        return refuse_pod(q, "its node has no secret, so no grant can be made for it");
    exec_grant_node_key(&verifier, grant.cluster, grant.node, key);
    json_set_string(q->arena, tree, "kind", "ExecGrant");
    json_set_string(q->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, tree, "node", grant.node);
    json_set_string(q->arena, tree, "nodeKey", key);
    grants = json_array(q->arena);
    json_set(q->arena, tree, "grants", grants);
    for (int64_t i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf word = STRBUF_INIT;

        if (exec_grant_sign(&verifier, &grant, &word, &err) < 0) {
            reply_errno(&q->reply, err.code, &err);
            return false;
        }
        json_append(q->arena, grants, json_string_n(q->arena, word.text, word.length));
    }
    reply_tree(&q->reply, 201, tree);
    return true;
}

void
exec_grants_make(struct request *q)
{
    const struct object *object =
        store_find(q->server->store, STORE_PENDING, &pod_kind, q->route.namespace, q->route.name);
    int64_t count;

    if (object == NULL)
        reply_not_found(&q->reply, &pod_kind, q->route.name);
    else if (!principal_is_person(q->principal))
        reply_forbidden(&q->reply, &pod_kind, q->route.name, "grants are for people");
    else if (authorization_covers(q, object) && check_request(q, &count)
             && check_pod(q, pod_of(object)))
        (void)answer(q, pod_of(object), count);
    request_finish_durably(q);
}
