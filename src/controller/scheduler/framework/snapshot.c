/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/snapshot.h"

#include "controller/scheduler/framework/node_view.h"
#include "lib/base/map.h"

struct node_view *
snapshot_find(const struct snapshot *s, const char *name)
{
    struct node_view *found = map_find(s->by_name, name);

    return found != NULL && found->node != NULL ? found : NULL;
}
