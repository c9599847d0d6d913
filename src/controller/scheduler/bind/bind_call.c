/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/bind_call.h"

#include "controller/scheduler/framework/pod_view.h"
#include "lib/allocator/allocator.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

struct client_call *
bind_call(struct client *client,
          const struct pod_view *pod,
          const char *node_name,
          const struct grant *grant,
          const struct topology_index *topology_index,
          client_done_fn *done,
          void *context)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena), *meta, *target;

    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "Binding");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", pod->name);
    json_set_string(arena, meta, "namespace", pod->namespace);
    if (pod->uid != NULL)
        json_set_string(arena, meta, "uid", pod->uid);
    target = json_make_object(arena, body, "target");
    json_set_string(arena, target, "kind", "Node");
    json_set_string(arena, target, "name", node_name);
    if (grant != NULL)
        json_set(arena,
                 body,
                 "allocation",
                 grant_encode(grant, topology_index, arena));
    return client_call(client,
                       arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &pod_kind,
                           .namespace = pod->namespace,
                           .name = pod->name,
                           .subresource = "binding",
                           .body = body,
                       },
                       done,
                       context);
}
