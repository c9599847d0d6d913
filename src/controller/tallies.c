/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/tallies.h"

#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/capacity/node_classes.h"
#include "controller/apiserver/summary/job_counts.h"
#include "controller/apiserver/summary/node_uses.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"

void
tallies_init(struct tallies *t)
{
    *t = (struct tallies){
        .users = user_counts_new(&clock_system),
        .jobs = job_counts_new(),
        .node_uses = node_uses_new(),
        .node_classes = node_classes_new(),
    };
}

void
tallies_fini(struct tallies *t)
{
    user_counts_free(t->users);
    job_counts_free(t->jobs);
    node_uses_free(t->node_uses);
    node_classes_free(t->node_classes);
    *t = (struct tallies){0};
}

void
tallies_moved(const struct object *before, const struct object *after, void *context)
{
    struct tallies *t = context;

    const struct kind *kind = (before != NULL ? before : after)->kind;

    user_counts_moved(t->users, before, after);
    if (kind == &job_kind)
        job_counts_moved(t->jobs, before, after);
    else if (kind == &pod_kind)
        node_uses_moved(t->node_uses, before, after);
    else if (kind == &node_kind)
        node_classes_moved(t->node_classes, before, after);
}
