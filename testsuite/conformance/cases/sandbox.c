/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"
#include "testsuite/lib/upstream_profile.h"

/* Kinds that upstream's plugins read and Kiln does not serve; only their
 * metadata has a table.
 */
struct foreign {
    struct meta meta;
};

static const struct field foreign_fields[] = {
    {.name = "metadata",
     .type = FIELD_OBJECT,
     .of = &meta_record,
     .offset = offsetof(struct foreign, meta)},
    {.name = "spec", .type = FIELD_ANY, .offset = FIELD_UNBOUND},
    {.name = "status", .type = FIELD_ANY, .offset = FIELD_UNBOUND},
};
static const struct record foreign_record = {
    .name = "foreign",
    .size = sizeof(struct foreign),
    RECORD_FIELDS(foreign_fields),
};
static const struct kind foreign_kinds[] = {
    {.name = "Service", .record = &foreign_record},
    {.name = "ReplicationController", .record = &foreign_record},
    {.name = "ReplicaSet", .record = &foreign_record},
    {.name = "StatefulSet", .record = &foreign_record},
    {.name = "PodDisruptionBudget", .record = &foreign_record},
};

static const struct kind *
find_kind(const char *name)
{
    const struct kind *kind = kind_find_any_name(name);

    for (size_t i = 0; kind == NULL && i < ARRAY_SIZE(foreign_kinds); i++)
        if (strcmp(foreign_kinds[i].name, name) == 0)
            kind = &foreign_kinds[i];
    return kind;
}

const struct object *
sandbox_object(struct trial *t, const struct kind *kind, const struct json *tree)
{
    struct json *copy = json_dup(t->arena, tree);
    struct error err = {0};

    json_set_string(t->arena, json_make_object(t->arena, copy, "metadata"), "resourceVersion", "1");
    if (record_normalize(kind->record, t->arena, copy, NULL, &err) < 0) {
        printf("Bail out! %s: %s\n", t->name, err.text);
        exit(EXIT_FAILURE);
    }
    return object_new(kind, copy);
}

struct pod_view *
sandbox_pod(struct sandbox *s, const struct json *pod, const char *node_name)
{
    struct arena *arena = s->trial->arena;
    struct json *copy = json_dup(arena, pod);
    const struct object *object;
    struct pod_view *view;

    if (node_name != NULL)
        json_set_string(arena, json_make_object(arena, copy, "spec"), "nodeName", node_name);
    object = sandbox_object((struct trial *)(uintptr_t)s->trial, &pod_kind, copy);
    view = pod_view_new(object, s->handle.resources);
    object_unref(object);
    return view;
}

void
sandbox_bind(struct sandbox *s, const struct json *pod, const char *node_name)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *view = sandbox_pod(s, pod, node_name);

    cache_set_pod(s->cache, view, node_name);
    cache_update_snapshot(s->cache, &s->snapshot);
}

/* Access of plugins to objects */

static const struct object *
find_object(void *owner, const char *kind, const char *key)
{
    const struct sandbox *s = owner;
    CLEANUP_FREE char *full = xasprintf("%s/%s", kind, key);

    return map_find(s->objects, full);
}

static void
visit_objects(void *owner, const char *kind, const char *namespace, handle_visit_fn *visit,
              void *context)
{
    const struct sandbox *s = owner;
    size_t at = 0;
    void *value;

    while (map_next(s->objects, &at, NULL, &value)) {
        const struct object *object = value;

        if (strcmp(object->kind->name, kind) != 0
            || (namespace != NULL && strcmp(object->meta->namespace, namespace) != 0))
            continue;
        if (!visit(object, context))
            return;
    }
}

static const char *
pod_key(const struct sandbox *s, const struct pod_view *pod)
{
    return arena_printf(s->trial->arena, "%s/%s", pod->namespace, pod->name);
}

static void
evict(void *owner, struct pod_view *victim, struct pod_view *preemptor, const char *node_name)
{
    struct sandbox *s = owner;

    (void)preemptor, (void)node_name;
    if (s->n_evicted < ARRAY_SIZE(s->evicted))
        s->evicted[s->n_evicted++] = pod_key(s, victim);
}

static void
clear_nomination(void *owner, struct pod_view *pod)
{
    struct sandbox *s = owner;

    if (s->n_cleared < ARRAY_SIZE(s->cleared))
        s->cleared[s->n_cleared++] = pod_key(s, pod);
}

static const struct profile *
profile_of(void *owner, const struct pod_view *pod)
{
    const struct sandbox *s = owner;

    (void)pod;
    return s->profile;
}

static void
add_objects(struct sandbox *s, struct trial *t, const char *list_name, const char *kind_name)
{
    const struct json *list = json_get(t->line, list_name);
    const struct kind *kind = find_kind(kind_name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct object *o = sandbox_object(t, kind, json_at(list, i));
        CLEANUP_FREE char *key =
            o->meta->namespace != NULL
                ? xasprintf("%s/%s/%s", kind_name, o->meta->namespace, o->meta->name)
                : xasprintf("%s/%s", kind_name, o->meta->name);

        object_unref(map_put(s->objects, key, (void *)(uintptr_t)o));
    }
}

static int
try_profile(struct sandbox *s, struct error *err)
{
    return profile_new(
        &(struct profile_settings){
            .scheduler_name = "default-scheduler",
            .plugins = s->plugins,
            .n_plugins = s->n_plugins,
            .percentage_of_nodes = 100,
            .handle = &s->handle,
        },
        &s->profile, err);
}

/* Builds upstream's profile with the case's arguments. If these are refused the
 * case has failed, and continues without them.
 */
static void
make_profile(struct sandbox *s, struct trial *t)
{
    const struct json *config = json_get(t->line, "pluginConfig");
    struct error err = {0};

    for (unsigned i = 0; i < ARRAY_SIZE(upstream_profile); i++) {
        s->plugins[i] = upstream_profile[i];
        s->plugins[i].args = json_get(config, upstream_profile[i].plugin->name);
    }
    s->n_plugins = ARRAY_SIZE(upstream_profile);
    if (try_profile(s, &err) == 0)
        return;
    mismatch(t, "pluginConfig: %s", err.text);
    for (unsigned i = 0; i < s->n_plugins; i++)
        s->plugins[i].args = NULL;
    if (try_profile(s, &err) < 0)
        abort();
}

static void
add_cluster(struct sandbox *s, struct trial *t)
{
    const struct json *nodes = json_get(t->line, "nodes");
    const struct json *pods = json_get(t->line, "pods");

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        const struct object *node = sandbox_object(t, &node_kind, json_at(nodes, i));

        cache_set_node(s->cache, node);
        object_unref(node);
    }
    for (uint32_t i = 0; i < json_count(pods); i++)
        sandbox_bind(s, json_at(pods, i), json_path_text(json_at(pods, i), "spec.nodeName"));
    cache_update_snapshot(s->cache, &s->snapshot);
}

static void
add_nominated(struct sandbox *s, struct trial *t)
{
    const struct json *pods = json_get(t->line, "nominated");
    const struct json *own = json_get(t->line, "pod");
    const char *node;

    for (uint32_t i = 0; i < json_count(pods); i++) {
        CLEANUP(pod_view_unrefp)
        struct pod_view *view = sandbox_pod(s, json_at(pods, i), NULL);

        nominator_add(s->handle.nominator, view,
                      cache_make_node(
                          s->cache, json_path_text(json_at(pods, i), "status.nominatedNodeName")));
    }
    node = json_path_text(own, "status.nominatedNodeName");
    if (node != NULL) {
        CLEANUP(pod_view_unrefp)
        struct pod_view *view = sandbox_pod(s, own, NULL);

        nominator_add(s->handle.nominator, view, cache_make_node(s->cache, node));
    }
}

struct sandbox *
sandbox_new(struct trial *t)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    struct sandbox *s = xnew(struct sandbox);

    s->trial = t;
    s->time = clock;
    s->random.state = 1;
    s->signatures = string_ids_new();
    s->objects = map_new();
    s->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &s->time.clock,
        .random = &s->random,
        .nominator = nominator_new(),
        .owner = s,
        .find = find_object,
        .visit = visit_objects,
        .evict = evict,
        .clear_nomination = clear_nomination,
        .profile = profile_of,
    };
    s->cache = cache_new(&(struct cache_settings){
        .clock = &s->time.clock,
        .resources = s->handle.resources,
    });
    s->node_finder = node_finder_new(&(struct node_finder_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
    });
    s->sharing = node_finder_new(&(struct node_finder_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
        .is_sharing = true,
    });
    add_objects(s, t, "namespaces", "Namespace");
    add_objects(s, t, "services", "Service");
    add_objects(s, t, "replicationControllers", "ReplicationController");
    add_objects(s, t, "replicaSets", "ReplicaSet");
    add_objects(s, t, "statefulSets", "StatefulSet");
    add_objects(s, t, "podDisruptionBudgets", "PodDisruptionBudget");
    make_profile(s, t);
    add_cluster(s, t);
    add_nominated(s, t);
    return s;
}

void
sandbox_free(struct sandbox *s)
{
    size_t at = 0;
    void *value;

    node_finder_free(s->node_finder);
    node_finder_free(s->sharing);
    cache_free(s->cache);
    profile_free(s->profile);
    nominator_free(s->handle.nominator);
    string_ids_free(s->handle.resources);
    string_ids_free(s->handle.reasons);
    string_ids_free(s->signatures);
    while (map_next(s->objects, &at, NULL, &value))
        object_unref(value);
    map_free(s->objects);
    free(s);
}

bool
sandbox_has(const struct sandbox *s, const char *plugin)
{
    return profile_find(s->profile, plugin) != PLUGIN_NONE;
}
