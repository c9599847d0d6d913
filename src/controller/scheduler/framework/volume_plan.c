/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/volume_plan.h"

#include <stdlib.h>

#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

struct volume_plan *
volume_plan_new(void)
{
    return xnew(struct volume_plan);
}

void
volume_plan_free(struct volume_plan *plan)
{
    if (plan == NULL)
        return;
    for (unsigned i = 0; i < plan->count; i++) {
        object_unref(plan->steps[i].claim);
        object_unref(plan->steps[i].volume);
    }
    free(plan->steps);
    free(plan);
}

void
volume_plan_add(struct volume_plan *plan,
                const struct object *claim,
                const struct object *volume)
{
    plan->steps =
        xrealloc_array(plan->steps, plan->count + 1, sizeof(*plan->steps));
    plan->steps[plan->count++] = (struct volume_step){
        .claim = object_ref(claim),
        .volume = volume != NULL ? object_ref(volume) : NULL,
    };
}
