/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/bootstrap.h"

#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/marks/cluster_mark.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/partition.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const struct {
    const struct kind *kind;
    const char *name;
    const char *body;
    bool is_kilns; /* kube-apiserver does not make it */
} objects[] = {
    {&priority_class_kind, "system-node-critical",
     "{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,"
     "\"description\":\"Used for system critical pods that must not be moved "
     "from their current node.\"}",
     false},
    {&priority_class_kind, "system-cluster-critical",
     "{\"metadata\":{\"name\":\"system-cluster-critical\"},"
     "\"value\":2000000000,\"description\":\"Used for system critical pods "
     "that must run in the cluster, but can be moved to another node if "
     "necessary.\"}",
     false},
    {&namespace_kind, "kube-system", "{\"metadata\":{\"name\":\"kube-system\"}}", false},
    {&namespace_kind, "kube-public", "{\"metadata\":{\"name\":\"kube-public\"}}", false},
    {&namespace_kind, "kube-node-lease", "{\"metadata\":{\"name\":\"kube-node-lease\"}}", false},
    {&namespace_kind, "default", "{\"metadata\":{\"name\":\"default\"}}", false},
    {&storage_class_kind, STORAGE_CLASS_SCRATCH,
     "{\"metadata\":{\"name\":\"" STORAGE_CLASS_SCRATCH "\"},\"provisioner\":\"" PROVISIONER_SCRATCH
     "\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}",
     true},
};

/* Created when there are no partitions: a site may delete this one. Most
 * ordinary jobs end within a day, and a day is short enough to plan with.
 */
static const char partition_over_all[] =
    "{\"metadata\":{\"name\":\"" PARTITION_ALL
    "\"},\"spec\":{\"defaultTime\":\"24h\",\"isDefault\":true}}";

static const struct principal seeder = {
    .type = PRINCIPAL_LIFECYCLE,
    .name = "the controller",
};

static void
done(struct request *q)
{
    if (q->reply.code != 201)
        log_error("cannot create '%s': %s", json_path_text(q->body, "metadata.name"),
                  json_get_text(q->reply.tree, "message"));
    request_free(q);
}

static void
create(struct apiserver *server, const struct kind *kind, const char *body)
{
    struct request *q = request_new(server, arena_new(0));

    q->principal = &seeder;
    q->route.verb = VERB_CREATE;
    q->route.kind = kind;
    q->format = BODY_JSON;
    q->text = arena_strdup(q->arena, body);
    q->length = strlen(body);
    q->done = done;
    verbs_start(q, NULL, 0);
}

/* ---- Partitions ---- */

static bool
is_there(struct store *store, const struct kind *kind, const char *name)
{
    return store_find(store, STORE_PENDING, kind, NULL, name) != NULL;
}

/* When a node gets the label, its nodes become a partition of that name, as
 * `kctl label node n7 kiln.hpc/partition=long` has always meant.
 */
static void
make_partition_of(struct apiserver *server, const struct object *node)
{
    const char *name = string_map_find(&node->meta->labels, LABEL_PARTITION);
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    if (name == NULL || name[0] == '\0' || is_there(server->store, &partition_kind, name))
        return;
    strbuf_printf(&body,
                  "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"defaultTime\":"
                  "\"24h\",\"selector\":{\"matchLabels\":{\"" LABEL_PARTITION "\":\"%s\"}}}}",
                  name, name);
    log_info("node '%s' is the first with " LABEL_PARTITION "=%s, creating partition '%s'",
             node->meta->name, name, name);
    create(server, &partition_kind, body.text);
}

static bool
visit_node(const struct object *node, void *server)
{
    make_partition_of(server, node);
    return true;
}

/* A partition that an administrator deleted is created again only when a node
 * gets a new label.
 */
static void
node_changed(const struct store_change *change, void *server)
{
    const struct object *node = change->new_object;
    const char *name, *before;

    if (node == NULL)
        return;
    name = string_map_find(&node->meta->labels, LABEL_PARTITION);
    before = change->old_object != NULL
                 ? string_map_find(&change->old_object->meta->labels, LABEL_PARTITION)
                 : NULL;
    if (name != NULL && (before == NULL || strcmp(before, name) != 0))
        make_partition_of(server, node);
}

static bool
stop_at_first(const struct object *object, void *context)
{
    (void)object;
    *(bool *)context = true;
    return false;
}

static void
make_partitions(struct apiserver *server)
{
    bool has_some = false;

    store_list(server->store, &partition_kind, NULL, NULL, 0, stop_at_first, &has_some);
    if (!has_some) {
        create(server, &partition_kind, partition_over_all);
        store_list(server->store, &node_kind, NULL, NULL, 0, visit_node, server);
    }
    if (store_watch(server->store, &node_kind, store_revision(server->store), -1, NULL,
                    node_changed, server, &server->node_watch)
        < 0)
        log_error("cannot watch the nodes");
}

void
bootstrap_stop(struct apiserver *server)
{
    if (server->node_watch != NULL)
        store_unwatch(server->node_watch);
    server->node_watch = NULL;
}

void
bootstrap(struct apiserver *server)
{
    const bool has_additions = server->profile->has_additions;

    for (unsigned i = 0; i < ARRAY_SIZE(objects); i++)
        if ((has_additions || !objects[i].is_kilns)
            && !is_there(server->store, objects[i].kind, objects[i].name))
            create(server, objects[i].kind, objects[i].body);
    if (has_additions) {
        cluster_mark_make_key(server->store);
        make_partitions(server);
    }
}
