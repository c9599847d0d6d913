/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/storage/provision.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static void
copy_annotation(struct arena *arena, struct json *annotations, const struct object *claim,
                const char *name)
{
    const char *value = string_map_find(&claim->meta->annotations, name);

    if (value != NULL)
        json_set_string(arena, annotations, name, value);
}

static struct json *
metadata(struct arena *arena, const struct object *claim, const struct object *node,
         const char *name)
{
    struct json *meta = json_object(arena);
    struct json *annotations = json_make_object(arena, meta, "annotations");
    struct json *finalizers = json_array(arena);

    json_set_string(arena, meta, "name", name);
    json_set_string(arena, json_make_object(arena, meta, "labels"), LABEL_VOLUME_NODE,
                    node->meta->name);
    json_set_string(arena, annotations, ANNOTATION_PROVISIONED_BY, PROVISIONER_SCRATCH);
    copy_annotation(arena, annotations, claim, ANNOTATION_UID);
    copy_annotation(arena, annotations, claim, ANNOTATION_GID);
    json_append(arena, finalizers, json_string(arena, FINALIZER_SCRATCH));
    json_set(arena, meta, "finalizers", finalizers);
    return meta;
}

/* Requires that node. */
static struct json *
affinity(struct arena *arena, const struct object *node)
{
    const char *host = string_map_find(&node->meta->labels, LABEL_HOSTNAME);
    struct json *affinity = json_object(arena);
    struct json *required = json_make_object(arena, affinity, "required");
    struct json *terms = json_array(arena), *term = json_object(arena);
    struct json *list = json_array(arena), *requirement = json_object(arena);
    struct json *values = json_array(arena);

    json_set_string(arena, requirement, "key", host != NULL ? LABEL_HOSTNAME : "metadata.name");
    json_set_string(arena, requirement, "operator", "In");
    json_append(arena, values, json_string(arena, host != NULL ? host : node->meta->name));
    json_set(arena, requirement, "values", values);
    json_append(arena, list, requirement);
    json_set(arena, term, host != NULL ? "matchExpressions" : "matchFields", list);
    json_append(arena, terms, term);
    json_set(arena, required, "nodeSelectorTerms", terms);
    return affinity;
}

static struct json *
claim_ref(struct arena *arena, const struct object *claim)
{
    struct json *ref = json_object(arena);

    json_set_string(arena, ref, "apiVersion", "v1");
    json_set_string(arena, ref, "kind", "PersistentVolumeClaim");
    json_set_string(arena, ref, "namespace", claim->meta->namespace);
    json_set_string(arena, ref, "name", claim->meta->name);
    json_set_string(arena, ref, "uid", claim->meta->uid);
    json_set_string(arena, ref, "resourceVersion", claim->meta->resource_version);
    return ref;
}

struct json *
provision_body(struct arena *arena, const struct object *claim, const struct object *class,
               const struct object *node)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);
    const struct storage_class *k = storage_class_of(class);
    const struct node_scratch *scratch = node_of(node)->status.scratch;
    const char *name = arena_printf(arena, "pvc-%s", claim->meta->uid);
    struct json *body = json_object(arena), *spec, *modes;

    json_set(arena, body, "metadata", metadata(arena, claim, node, name));
    spec = json_make_object(arena, body, "spec");
    json_set_string(arena, json_make_object(arena, spec, "capacity"), "storage",
                    string_map_find(&c->spec.requests, "storage"));
    json_set_string(arena, json_make_object(arena, spec, "local"), "path",
                    arena_printf(arena, "%s/%s", scratch->path, name));
    modes = json_array(arena);
    for (unsigned i = 0; i < c->spec.access_modes.count; i++)
        json_append(arena, modes, json_string(arena, c->spec.access_modes.items[i]));
    json_set(arena, spec, "accessModes", modes);
    json_set_string(arena, spec, "persistentVolumeReclaimPolicy",
                    k->reclaim_policy != NULL ? k->reclaim_policy : "Delete");
    json_set_string(arena, spec, "storageClassName", class->meta->name);
    json_set(arena, spec, "nodeAffinity", affinity(arena, node));
    json_set(arena, spec, "claimRef", claim_ref(arena, claim));
    return body;
}

/* --- a node for a claim that waits for no pod ----------------------------- */

struct node_choice {
    const struct object *claim;
    struct object_cache *cache;
    const struct storage_class *class;
    int64_t wanted;
    const struct object *node;
    int64_t room; /* free scratch of the node, bytes */
};

struct volume_sum {
    const char *node;
    int64_t bytes;
};

static void
add_volume(const struct object *volume, void *context)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    const char *node = persistent_volume_scratch_node(v);
    struct volume_sum *sum = context;

    if (node != NULL && strcmp(node, sum->node) == 0)
        sum->bytes += persistent_volume_bytes(v);
}

/* The node of a user's agent gets only volumes of that user. */
static bool
is_of_another(const struct node *node, const struct object *claim)
{
    uid_t owner, uid;

    return node_find_owner(node, &owner) && (!object_owner(claim, &uid) || uid != owner);
}

static void
check_node(const struct object *node, void *context)
{
    struct node_choice *choice = context;
    const struct node *n = node_of(node);
    struct volume_sum sum = {.node = node->meta->name};
    int64_t room;

    if (n->status.scratch == NULL || !node_is_ready(n) || n->spec.unschedulable
        || !storage_class_allows(choice->class, &node->meta->labels)
        || is_of_another(n, choice->claim))
        return;
    object_cache_visit(choice->cache, &persistent_volume_kind, add_volume, &sum);
    room = node_scratch_bytes(n) - sum.bytes;
    if (room < choice->wanted || (choice->node != NULL && room <= choice->room))
        return;
    choice->node = node;
    choice->room = room;
}

const struct object *
provision_choose(struct object_cache *cache, const struct object *claim, const struct object *class)
{
    struct node_choice choice = {
        .cache = cache,
        .claim = claim,
        .class = storage_class_of(class),
        .wanted = persistent_volume_claim_bytes(persistent_volume_claim_of(claim)),
    };

    object_cache_visit(cache, &node_kind, check_node, &choice);
    return choice.node;
}
