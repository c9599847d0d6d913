/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/array_ends.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

void
array_ends_init(struct array_ends *ends)
{
    *ends = (struct array_ends){0};
    list_init(&ends->list);
}

void
array_ends_fini(struct array_ends *ends)
{
    list_foreach_safe(pos, &ends->list)
        array_ends_drop(ends, container_of(pos, struct array_end, link));
}

struct array_end *
array_ends_add(struct array_ends *ends, const char *pod, const char *uid, int64_t index,
               enum array_outcome outcome)
{
    struct array_end *end = xnew(struct array_end);

    end->pod = pod != NULL ? xstrdup(pod) : NULL;
    end->uid = uid != NULL ? xstrdup(uid) : NULL;
    end->index = index;
    end->outcome = outcome;
    end->of_attempt = -1;
    list_add_last(&ends->list, &end->link);
    ends->count++;
    return end;
}

void
array_ends_drop(struct array_ends *ends, struct array_end *end)
{
    list_remove(&end->link);
    ends->count--;
    free(end->pod);
    free(end->uid);
    free(end);
}
