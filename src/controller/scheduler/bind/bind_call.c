/* SPDX-License-Identifier: Apache-2.0 */
/* bind_call.c - the scheduler's decision leaves the process here
 *
 * The uid refuses a pod of the same name that was made meanwhile, and the number
 * of the update one that was changed after the decision. The allocation becomes
 * text here, and nowhere before.
 */
#include "controller/scheduler/bind/bind_call.h"

#include "controller/scheduler/framework/pod_view.h"
#include "lib/allocator/allocator.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static struct json *
make_binding(struct arena *arena, const struct pod_to_bind *m)
{
    const struct pod_view *pod = m->pod;
    struct json *body = json_object(arena), *meta, *target;
    const char *update;

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "Binding");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", pod->name);
    json_set_string(arena, meta, "namespace", pod->namespace);
    if (pod->uid != NULL)
        json_set_string(arena, meta, "uid", pod->uid);
    update = string_map_find(&pod->pod->meta.annotations, ANNOTATION_UPDATE);
    if (update != NULL)
        json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_UPDATE,
                        update);
    if (m->domains != NULL)
        json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_TOPOLOGY,
                        m->domains);
    target = json_make_object(arena, body, "target");
    json_set_string(arena, target, "kind", "Node");
    json_set_string(arena, target, "name", m->node_name);
    if (m->grant != NULL)
        json_set(arena, body, "allocation", grant_encode(m->grant, m->topology_index, arena));
    return body;
}

struct client_call *
bind_call(struct client *client, const struct pod_to_bind *member, client_done_fn *done,
          void *context)
{
    struct arena *arena = arena_new(1024);

    return client_call(client, arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &pod_kind,
                           .namespace = member->pod->namespace,
                           .name = member->pod->name,
                           .subresource = "binding",
                           .body = make_binding(arena, member),
                       },
                       done, context);
}

struct client_call *
bind_call_group(struct client *client, const struct pod_to_bind *members, unsigned count,
                client_done_fn *done, void *context)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *items = json_array(arena);

    for (unsigned i = 0; i < count; i++)
        json_append(arena, items, make_binding(arena, &members[i]));
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "BindingList");
    json_set(arena, body, "items", items);
    return client_call(client, arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &pod_kind,
                           .namespace = members[0].pod->namespace,
                           .subresource = "binding",
                           .body = body,
                       },
                       done, context);
}
