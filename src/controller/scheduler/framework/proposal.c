/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/proposal.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/alloc.h"

void
proposals_fini(struct proposals *p)
{
    for (unsigned i = 0; i < p->count; i++) {
        for (unsigned j = 0; j < p->items[i].count; j++)
            pod_view_unref(p->items[i].pods[j]);
        free(p->items[i].pods);
        free(p->items[i].node_name);
    }
    free(p->items);
    *p = (struct proposals){0};
}

void
proposals_take(struct proposals *to, struct proposals *from)
{
    proposals_fini(to);
    *to = *from;
    *from = (struct proposals){0};
}

void
proposals_add(struct proposals *p, const char *node_name, struct pod_view *const *pods,
              unsigned count, unsigned violations)
{
    struct proposal one = {
        .node_name = xstrdup(node_name),
        .pods = xnew_array(struct pod_view *, count + 1),
        .count = count,
        .violations = violations,
    };

    for (unsigned i = 0; i < count; i++)
        one.pods[i] = pod_view_ref(pods[i]);
    xgrow(p->items, p->count, p->capacity);
    p->items[p->count++] = one;
}

const struct proposal *
proposals_find(const struct proposals *p, const char *node_name)
{
    for (unsigned i = 0; i < p->count; i++)
        if (strcmp(p->items[i].node_name, node_name) == 0)
            return &p->items[i];
    return NULL;
}
