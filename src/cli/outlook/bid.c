/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/bid.h"

#include <stdlib.h>
#include <string.h>

#include "cli/outlook/stowage.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"

static bool
is_cpu(const char *name)
{
    return strcmp(name, "cpu") == 0;
}

void
bid_init(struct bid *bid, const struct pod_spec *spec)
{
    CLEANUP(pod_sums_fini) struct pod_sums requests = {0};

    pod_sums_add_requests(&requests, spec, NULL);
    *bid = (struct bid){
        .amounts = xnew_array(struct bid_amount, requests.count + 1),
        .cpu_milli = pod_sum_milli(pod_sums_find(&requests, "cpu")),
        .memory_bytes = pod_sum_value(pod_sums_find(&requests, "memory")),
        .scratch_bytes = stowage_wanted(spec),
    };
    demand_init(&bid->demand,
                spec->placement,
                bid->cpu_milli,
                bid->memory_bytes);
    for (uint32_t i = 0; i < requests.count; i++) {
        struct bid_amount *a = &bid->amounts[bid->n_amounts++];

        a->name = requests.items[i].name;
        a->amount = bid_amount_of_pod(a, &requests);
        demand_add_resource(&bid->demand, a->name, a->amount);
    }
}

void
bid_fini(struct bid *bid)
{
    free(bid->amounts);
    *bid = (struct bid){0};
}

int64_t
bid_amount_of_pod(const struct bid_amount *a, const struct pod_sums *requests)
{
    const struct pod_sum *r = pod_sums_find(requests, a->name);

    return is_cpu(a->name) ? pod_sum_milli(r) : pod_sum_value(r);
}

int64_t
bid_amount_in(const struct bid_amount *a, const struct string_map *quantities)
{
    const char *text = string_map_find(quantities, a->name);

    return is_cpu(a->name) ? quantity_text_milli(text)
                           : quantity_text_value(text);
}
