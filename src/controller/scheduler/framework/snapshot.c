/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream copies nodes into a snapshot, since its informers change the cache while a cycle
 * runs. Here both are on one thread, so a snapshot is pointers and an order. The list of
 * recently changed nodes starts with the latest: whoever has kept something reads it until the
 * generation that he has seen, at the cost of what has changed.
 */
#include "controller/scheduler/framework/snapshot.h"

#include <stdio.h>

#include "controller/scheduler/framework/node_view.h"
#include "lib/api/object/object.h"
#include "lib/base/map.h"

struct node_view *
snapshot_find(const struct snapshot *s, const char *name)
{
    struct node_view *found = map_find(s->by_name, name);

    return found != NULL && found->node != NULL ? found : NULL;
}

unsigned
snapshot_claim_users(const struct snapshot *s, const char *namespace, const char *name)
{
    char key[OBJECT_KEY_SIZE];

    snprintf(key, sizeof(key), "%s/%s", namespace, name);
    return (unsigned)(uintptr_t)map_find(s->claims, key);
}

unsigned
snapshot_changed(const struct snapshot *s, uint64_t generation, unsigned most)
{
    unsigned changed = 0;

    list_foreach(link, s->recent)
    {
        const struct node_view *v = container_of(link, struct node_view, recent);

        if (v->generation <= generation || changed == most)
            break;
        changed++;
    }
    return changed;
}
