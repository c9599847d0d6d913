/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/preemption/victim_terms.h"

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/priority_class.h"

/* NULL: the class is unknown or has no mode. */
static const char *
find_mode_of_class(const struct profile *p, const struct pod_view *victim)
{
    const char *name = victim->pod->spec.priority_class_name;
    const struct object *class;

    if (name == NULL || name[0] == '\0' || profile_find(p, PARTITION_PLUGIN) == p->n_entries)
        return NULL;
    class = p->handle->find(p->handle->owner, priority_class_kind.name, name);
    return class != NULL ? string_map_find(&class->meta->annotations, ANNOTATION_PREEMPTION_MODE)
                         : NULL;
}

static bool
can_be_suspended(const struct profile *p, const struct node_view *node,
                 const struct pod_view *victim, const struct pod_view *preemptor)
{
    const struct allocation *a = victim->pod->status.allocation;

    return a != NULL && a->cpus != NULL && preemptor->demand->is_exclusive
           && node_has_feature(node->node, NODE_FEATURE_YIELD) && !pod_cannot_freeze(victim->pod)
           && (p->handle->is_of_gang == NULL || !p->handle->is_of_gang(p->handle->owner, victim))
           && (p->handle->refuses_to_yield == NULL
               || !p->handle->refuses_to_yield(p->handle->owner, victim));
}

static enum partition_preemption
settle_suspension(const struct profile *p, const struct node_view *node,
                  const struct pod_view *victim, const struct pod_view *preemptor)
{
    if (pod_view_is_terminating(victim))
        return PREEMPTION_REQUEUES;
    return can_be_suspended(p, node, victim, preemptor) ? PREEMPTION_SUSPENDS : PREEMPTION_IS_OFF;
}

struct victim_terms
victim_terms_find(const struct profile *profile, const struct node_view *node,
                  const struct pod_view *victim, const struct pod_view *preemptor)
{
    struct victim_terms terms = {.mode = PREEMPTION_REQUEUES};
    const struct partition *of;
    const char *mode;

    if (profile == NULL || profile->handle->find == NULL || node == NULL || node->node == NULL)
        return terms;
    of = partition_find_of_node(pod_spec_partition(&victim->pod->spec), &node->node->meta.labels,
                                profile->handle->find, profile->handle->owner);
    if (of != NULL)
        terms = (struct victim_terms){
            .mode = partition_preemption(of),
            .grace_s = partition_time_s(of->spec.grace_time),
        };
    mode = find_mode_of_class(profile, victim);
    if (mode != NULL)
        terms.mode = partition_preemption_mode(mode);
    if (terms.mode == PREEMPTION_SUSPENDS)
        terms.mode = settle_suspension(profile, node, victim, preemptor);
    return terms;
}
