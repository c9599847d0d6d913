/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/topology.h"

#include <string.h>

#include "lib/base/alloc.h"

struct topology *
topology_new(void)
{
    return xnew(struct topology);
}

void
topology_free(struct topology *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->n_devices; i++) {
        free(t->devices[i].name);
        free(t->devices[i].type);
        free(t->devices[i].path);
        free(t->devices[i].model);
    }
    free(t->pu);
    free(t->numa);
    free(t->packages);
    free(t->dies);
    free(t->clusters);
    free(t->l3);
    free(t->l2);
    free(t->cores);
    free(t->devices);
    free(t->distances);
    free(t);
}

static const char *const memories[] = {
    [TOPOLOGY_MEMORY_PLAIN] = "",  [TOPOLOGY_MEMORY_HBM] = "HBM", [TOPOLOGY_MEMORY_NVM] = "NVM",
    [TOPOLOGY_MEMORY_CXL] = "CXL", [TOPOLOGY_MEMORY_SPM] = "SPM",
};

const char *
topology_memory_name(enum topology_memory kind)
{
    return memories[kind];
}

enum topology_memory
topology_memory_find(const char *name)
{
    for (unsigned i = 0; name != NULL && i < ARRAY_SIZE(memories); i++)
        if (strcmp(memories[i], name) == 0)
            return (enum topology_memory)i;
    return TOPOLOGY_MEMORY_PLAIN;
}
