/* SPDX-License-Identifier: Apache-2.0 */
/* binding.h - which node a pod is bound to, and what it gets there
 *
 * The body of `pods/NAME/binding`. The allocation is an extension of Kiln;
 * without it the pod is bound but unallocated.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/node/allocation.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object_reference.h"

struct binding {
    struct meta meta;
    struct object_reference target; /* kind "Node" */
    const struct allocation *allocation;
};

extern const struct record binding_record;
