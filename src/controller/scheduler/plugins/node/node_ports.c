/* SPDX-License-Identifier: Apache-2.0 */
/* NodePorts - a host port of a node is used by one pod at a time
 *
 * Extension points:  prefilter, filter
 * Woken by:          a pod leaving that had one of the ports; a node joining
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define ANY_IP "0.0.0.0"

struct node_ports {
    struct string_ids *resources;
    uint32_t taken;
};

static int
node_ports_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct node_ports *self = xnew(struct node_ports);

    (void)args, (void)err;
    self->resources = handle->resources;
    self->taken =
        handle_reason(handle, "node(s) didn't have free ports for the requested pod ports");
    *ret_self = self;
    return 0;
}

static bool
node_ports_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    for (uint32_t i = 0; i < pod->n_ports; i++)
        strbuf_printf(out, "%s %s %lld,", pod->ports[i].ip, pod->ports[i].protocol,
                      (long long)pod->ports[i].port);
    return true;
}

static enum verdict
node_ports_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                     uint32_t *ret_reason)
{
    (void)self, (void)ret_result, (void)ret_reason;
    return c->pod->n_ports == 0 ? VERDICT_SKIP : VERDICT_OK;
}

static bool
collide(const struct host_port *a, const struct host_port *b)
{
    return a->port == b->port && strcmp(a->protocol, b->protocol) == 0
           && (strcmp(a->ip, b->ip) == 0 || strcmp(a->ip, ANY_IP) == 0
               || strcmp(b->ip, ANY_IP) == 0);
}

static bool
pods_collide(const struct pod_view *a, const struct pod_view *b)
{
    for (uint32_t i = 0; i < a->n_ports; i++)
        for (uint32_t j = 0; j < b->n_ports; j++)
            if (collide(&a->ports[i], &b->ports[j]))
                return true;
    return false;
}

static void
node_ports_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                  unsigned count, struct answer *answers)
{
    const struct node_ports *me = self;

    for (unsigned i = 0; i < count; i++)
        for (uint32_t p = 0; p < nodes[i]->pods.count; p++)
            if (pods_collide(c->pod, nodes[i]->pods.items[p])) {
                answers[i].verdict = VERDICT_REJECT;
                answers[i].reason = me->taken;
                break;
            }
}

static bool
pod_hint(void *self, const struct pod_view *pod, const struct object *old_object,
         const struct object *new_object)
{
    const struct node_ports *me = self;
    CLEANUP(pod_view_unrefp) struct pod_view *gone = NULL;

    (void)new_object;
    if (pod_of(old_object)->spec.node_name == NULL)
        return false;
    gone = pod_view_new(old_object, me->resources);
    return pods_collide(pod, gone);
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_DELETE, pod_hint},
    {EVENT_NODE, ACTION_ADD, NULL},
    WAKE_NEW_NODES,
};

const struct plugin node_ports_plugin = {
    .name = "NodePorts",
    .make = node_ports_make,
    .drop = free,
    .sign = node_ports_sign,
    .prefilter = node_ports_prefilter,
    .filter = node_ports_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
