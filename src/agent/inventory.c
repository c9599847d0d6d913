/* SPDX-License-Identifier: Apache-2.0 */
/* Two libraries read the hardware from different files, and jobs are placed by one and their
 * memory by the other. Where they disagree the node would be wrong in one of them; it says so
 * and goes on with hwloc's view. Former topologies are kept until the end, since workers may
 * be reading one.
 */
#include "agent/inventory.h"

#include <stdlib.h>

#include "agent/hardware/machine.h"
#include "agent/numa/memory_check.h"
#include "agent/settings.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

static int
read_reserved(struct hardware_request *request, const struct agent_settings *s, struct error *err)
{
    struct quantity memory;
    int r;

    if (s->reserved_cpus != NULL) {
        r = cpuset_parse(s->reserved_cpus, &request->reserved, err);
        if (r < 0)
            return error_wrap(err, r, "--reserved-cpus");
    }
    if (s->reserved_memory != NULL) {
        r = quantity_parse(s->reserved_memory, &memory);
        if (r < 0)
            return error_set(err, r,
                             "--reserved-memory: '%s' is not a quantity such "
                             "as 4Gi",
                             s->reserved_memory);
        request->reserved_memory_bytes = (uint64_t)quantity_value(&memory);
    }
    return 0;
}

/* hwloc and libnuma read different files. If the two disagree about memory,
 * placement by one of them would be wrong; the agent uses hwloc's values and
 * logs a warning.
 */
static void
log_disagreements(const struct inventory *i)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    CLEANUP_FREE struct memory_facts *facts = xnew(struct memory_facts);

    if (memory_facts_read(facts) == 0
        && memory_check(i->topology, i->request.reserved_memory_bytes, facts, &words) > 0)
        log_warning("hwloc and libnuma disagree about this machine: %s; using "
                    "hwloc for placement. Compare 'lstopo' with 'numactl "
                    "--hardware'",
                    words.text);
}

int
inventory_take(struct inventory *i, const struct agent_settings *s, struct error *err)
{
    int r;

    i->request = (struct hardware_request){
        .given = s->topology,
        .with_devices = s->devices,
        .offers_isolated = s->isolated_cpus == ISOLATED_CPUS_OFFER,
        .whole_machine = s->cpu_partition != CPU_PARTITION_NONE,
        .patterns = s->device_files.items,
        .n_patterns = s->device_files.count,
    };
    r = machine_read("", &i->machine, err);
    if (r == 0)
        r = read_reserved(&i->request, s, err);
    if (r == 0)
        r = hardware_discover(&i->request, &i->topology, err);
    if (r == 0 && i->request.given == NULL)
        log_disagreements(i);
    return r;
}

void
inventory_change(struct inventory *i, struct topology *is TAKES)
{
    xgrow(i->former, i->n_former, i->former_capacity);
    i->former[i->n_former++] = i->topology;
    i->topology = is;
}

void
inventory_fini(struct inventory *i)
{
    topology_free(i->topology);
    for (size_t n = 0; n < i->n_former; n++)
        topology_free(i->former[n]);
    free(i->former);
    machine_free(i->machine);
}
