/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender.h"

#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/api/pod/pod.h"

static bool
manages(const struct extender *e, const char *resource)
{
    for (unsigned i = 0; i < e->n_resources; i++)
        if (strcmp(e->resources[i], resource) == 0)
            return true;
    return false;
}

static bool
manages_any(const struct extender *e, const struct string_map *amounts)
{
    for (unsigned i = 0; i < amounts->count; i++)
        if (manages(e, amounts->items[i].key))
            return true;
    return false;
}

static bool
concerns(const struct extender *e, const struct container *containers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (manages_any(e, &containers[i].resources.requests)
            || manages_any(e, &containers[i].resources.limits))
            return true;
    return false;
}

bool
extender_is_concerned(const struct extender *e, const struct pod_view *pod)
{
    const struct pod_spec *spec = &pod->pod->spec;

    return e->n_resources == 0 || concerns(e, spec->containers.items, spec->containers.count)
           || concerns(e, spec->init_containers.items, spec->init_containers.count);
}
