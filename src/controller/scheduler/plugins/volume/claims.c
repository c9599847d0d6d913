/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/volume/claims.h"

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

bool
claims_has_any(const struct pod_view *pod)
{
    const struct pod_spec *spec = &pod->pod->spec;

    for (unsigned i = 0; i < spec->volumes.count; i++)
        if (spec->volumes.items[i].claim_name != NULL || spec->volumes.items[i].ephemeral != NULL)
            return true;
    return false;
}

bool
claims_include(const struct pod_view *pod, const char *namespace, const char *name)
{
    const struct pod_spec *spec = &pod->pod->spec;
    char buffer[POD_CLAIM_NAME_SIZE];

    if (namespace == NULL || strcmp(pod->namespace, namespace) != 0)
        return false;
    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const char *claim = pod_volume_claim(pod->pod, &spec->volumes.items[i], buffer);

        if (claim != NULL && strcmp(claim, name) == 0)
            return true;
    }
    return false;
}

bool
claims_hint(void *self, const struct pod_view *pod, const struct object *old_claim,
            const struct object *new_claim)
{
    (void)self, (void)old_claim;
    return claims_include(pod, new_claim->meta->namespace, new_claim->meta->name);
}
