/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.h - whether a holding has cores or devices that others have too */
#pragma once

#include <stdbool.h>

#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"

static inline bool
overlaps(const struct occupancy *o, const struct holding *holding)
{
    for (unsigned i = 0; i < holding->n_cores; i++)
        if (o->core_holders[holding->cores[i]] > 0)
            return true;
    for (unsigned i = 0; i < holding->n_devices; i++)
        if (o->device_holders[holding->devices[i]] > 0)
            return true;
    return false;
}
