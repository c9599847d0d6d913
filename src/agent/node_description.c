/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node_description.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cgroup/cgroot.h"
#include "agent/hardware/machine.h"
#include "agent/inventory.h"
#include "agent/node_resources.h"
#include "agent/settings.h"
#include "agent/volumes/scratch.h"
#include "lib/base/alloc.h"

/* Names in the API are lower-case; host names may have capitals. */
static char *
name_after_host(const char *hostname)
{
    char *name = xstrdup(hostname);

    for (char *c = name; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return name;
}

void
node_description_init(struct node_description *d, const struct agent_settings *s,
                      const struct inventory *inventory, const struct node_resources *resources)
{
    const struct cgroot_ability *can =
        resources->cgroups != NULL ? cgroot_ability(resources->cgroups) : NULL;

    d->name = s->node_name != NULL ? xstrdup(s->node_name)
                                   : name_after_host(inventory->machine->hostname);
    d->facts.name = d->name;
    d->facts.machine = inventory->machine;
    d->facts.topology = inventory->topology;
    d->facts.reserved_memory_bytes = inventory->request.reserved_memory_bytes;
    d->facts.address = s->address;
    d->facts.labels = s->labels.items;
    d->facts.n_labels = s->labels.count;
    d->facts.max_pods = s->max_pods;
    d->facts.has_hooks = s->prolog != NULL || s->epilog != NULL;
    d->facts.rootless = geteuid() != 0;
    d->facts.uid = geteuid();
    d->facts.can_limit_memory = can != NULL && can->memory;
    d->facts.can_limit_hugepages = can != NULL && can->hugepages;
    d->facts.can_guard_devices = can != NULL && can->devices;
    d->facts.devices_lacking = can != NULL ? can->devices_lacking : NULL;
    d->facts.can_bind_cpus = can != NULL && can->cpuset;
    /* A core can be lent only without a CPU partition: partitions of cpuset
     * cgroups do not overlap.
     */
    d->facts.lends_cores = s->cpu_partition == CPU_PARTITION_NONE;
    if (resources->scratch == NULL)
        return;
    d->facts.scratch_dir = scratch_dir(resources->scratch);
    d->facts.scratch_bytes = scratch_capacity(resources->scratch);
    d->facts.has_scratch_quota = scratch_has_quota(resources->scratch);
}

bool
node_description_set_hook_failure(struct node_description *d, const char *what)
{
    if (d->hook_failure != NULL)
        return false;
    d->hook_failure = xstrdup(what);
    d->facts.hook_failure = d->hook_failure;
    return true;
}

bool
node_description_set_missing(struct node_description *d, const char *words)
{
    bool same =
        words == NULL ? d->missing == NULL : d->missing != NULL && strcmp(words, d->missing) == 0;

    if (same)
        return false;
    free(d->missing);
    d->missing = words != NULL ? xstrdup(words) : NULL;
    d->facts.missing = d->missing;
    return true;
}

void
node_description_fini(struct node_description *d)
{
    free(d->name);
    free(d->hook_failure);
    free(d->missing);
}
