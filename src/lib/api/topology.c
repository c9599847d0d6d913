/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/topology.h"

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
    free(t->l3);
    free(t->cores);
    free(t->devices);
    free(t->distances);
    free(t);
}
