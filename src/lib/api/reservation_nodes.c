/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/reservation_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_times.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"

void
reservation_nodes_fini(struct reservation_nodes *nodes)
{
    free(nodes->items);
    *nodes = (struct reservation_nodes){0};
}

void
reservation_nodes_add(struct reservation_nodes *nodes, const char *name, int64_t busy_until_us)
{
    xgrow(nodes->items, nodes->count, nodes->capacity);
    nodes->items[nodes->count++] = (struct reservation_candidate){name, busy_until_us};
}

static int
compare(const void *a, const void *b)
{
    const struct reservation_candidate *x = a, *y = b;

    if (x->busy_until_us != y->busy_until_us)
        return x->busy_until_us < y->busy_until_us ? -1 : 1;
    return strverscmp(x->name, y->name);
}

void
reservation_nodes_choose(struct reservation_nodes *nodes, unsigned count, int64_t start_us)
{
    for (unsigned i = 0; i < nodes->count; i++)
        if (nodes->items[i].busy_until_us <= start_us)
            nodes->items[i].busy_until_us = 0;
    if (nodes->count > 0)
        qsort(nodes->items, nodes->count, sizeof(struct reservation_candidate), compare);
    if (nodes->count > count)
        nodes->count = count;
}

bool
reservation_nodes_match(const struct node_reservation *r, const struct node *node)
{
    uid_t owner;

    if (node_find_owner(node, &owner))
        return false;
    for (unsigned i = 0; i < r->spec.node_selector.count; i++) {
        const struct string_entry *e = &r->spec.node_selector.items[i];
        const char *has = string_map_find(&node->meta.labels, e->key);

        if (has == NULL || strcmp(has, e->value) != 0)
            return false;
    }
    return true;
}

int64_t
reservation_nodes_end_us(const struct pod *pod, int64_t now_us)
{
    return pod_is_frozen(pod) ? INT64_MAX : pod_expected_end_us(pod, now_us);
}
