/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/bootstrap.h"

#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const struct {
    const struct kind *kind;
    const char *name;
    const char *body;
} objects[] = {
    {&priority_class_kind,
     "system-node-critical",
     "{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,"
     "\"description\":\"Used for system critical pods that must not be moved "
     "from their current node.\"}"},
    {&priority_class_kind,
     "system-cluster-critical",
     "{\"metadata\":{\"name\":\"system-cluster-critical\"},"
     "\"value\":2000000000,\"description\":\"Used for system critical pods "
     "that must run in the cluster, but can be moved to another node if "
     "necessary.\"}"},
    {&namespace_kind,
     "kube-system",
     "{\"metadata\":{\"name\":\"kube-system\"}}"},
    {&namespace_kind,
     "kube-public",
     "{\"metadata\":{\"name\":\"kube-public\"}}"},
    {&namespace_kind,
     "kube-node-lease",
     "{\"metadata\":{\"name\":\"kube-node-lease\"}}"},
    {&namespace_kind, "default", "{\"metadata\":{\"name\":\"default\"}}"},
    {&storage_class_kind,
     STORAGE_CLASS_SCRATCH,
     "{\"metadata\":{\"name\":\"" STORAGE_CLASS_SCRATCH
     "\"},\"provisioner\":\"" PROVISIONER_SCRATCH
     "\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}"},
};

/* Whether the kind is Kiln's own. */
static bool
is_kilns(const struct kind *kind)
{
    return kind == &storage_class_kind;
}

static const struct principal seeder = {
    .type = PRINCIPAL_LIFECYCLE,
    .name = "the controller",
};

static void
done(struct request *q)
{
    if (q->reply.code != 201)
        log_error("'%s' could not be made: %s",
                  json_path_text(q->body, "metadata.name"),
                  json_get_text(q->reply.tree, "message"));
    request_free(q);
}

void
bootstrap(struct apiserver *server)
{
    for (unsigned i = 0; i < ARRAY_SIZE(objects); i++) {
        struct request *q;

        if ((server->policy->is_conformance && is_kilns(objects[i].kind))
            || store_find(server->store,
                          STORE_PENDING,
                          objects[i].kind,
                          NULL,
                          objects[i].name)
                   != NULL)
            continue;
        q = request_new(server, arena_new(0));
        q->principal = &seeder;
        q->route.verb = VERB_CREATE;
        q->route.kind = objects[i].kind;
        q->format = BODY_JSON;
        q->text = objects[i].body;
        q->length = strlen(objects[i].body);
        q->done = done;
        verbs_start(q, NULL, 0);
    }
}
