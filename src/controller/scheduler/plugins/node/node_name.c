/* SPDX-License-Identifier: Apache-2.0 */
/* NodeName - a pod that names its node runs there or nowhere
 *
 * Extension points:  filter
 * Woken by:          a node joining
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct node_name {
    uint32_t other_node;
};

static int
node_name_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct node_name *self = xnew(struct node_name);

    (void)args, (void)err;
    self->other_node = handle_reason(handle, "node(s) didn't match the requested node name");
    *ret_self = self;
    return 0;
}

static bool
node_name_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    if (pod->pod->spec.node_name != NULL)
        strbuf_add_text(out, pod->pod->spec.node_name);
    return true;
}

static void
node_name_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                 unsigned count, struct answer *answers)
{
    const struct node_name *me = self;
    const char *wanted = c->pod->pod->spec.node_name;

    if (wanted == NULL || wanted[0] == '\0')
        return;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(wanted, nodes[i]->name) != 0) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->other_node;
        }
}

static const struct wake wakes[] = {
    {EVENT_NODE, ACTION_ADD, NULL},
    WAKE_NEW_NODES,
};

const struct plugin node_name_plugin = {
    .name = "NodeName",
    .make = node_name_make,
    .drop = free,
    .sign = node_name_sign,
    .filter = node_name_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
