/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing hints: events that may help a pod that InterPodAffinity rejected. */
#include "controller/scheduler/plugins/pods/interpod_affinity.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

static bool
matches_terms(const struct interpod *me, const struct pod_view *pod, enum affinity_kind kind,
              const struct object *other)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *view = pod_view_new(other, me->handle->resources);
    unsigned count;
    CLEANUP_FREE struct affinity_term *terms = affinity_terms(pod, kind, &count);

    return affinity_term_matches_all(terms, count, view, namespace_labels(me->handle, view));
}

static bool
is_assigned(const struct object *pod)
{
    const char *name = pod_of(pod)->spec.node_name;

    return name != NULL && name[0] != '\0';
}

static bool
has_terms(const struct pod_view *pod)
{
    struct affinity_term term;

    return affinity_term_at(pod, AFFINITY_REQUIRED, 0, &term)
           || affinity_term_at(pod, ANTI_AFFINITY_REQUIRED, 0, &term);
}

static bool
pod_hint(void *self, const struct pod_view *pod, const struct object *a, const struct object *b)
{
    const struct interpod *me = self;

    if ((a != NULL && !is_assigned(a)) || (b != NULL && !is_assigned(b)))
        return false;
    if (a != NULL && b != NULL)
        return (!matches_terms(me, pod, AFFINITY_REQUIRED, a)
                && matches_terms(me, pod, AFFINITY_REQUIRED, b))
               || (matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, a)
                   && !matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, b));
    if (b != NULL)
        return matches_terms(me, pod, AFFINITY_REQUIRED, b);
    return matches_terms(me, pod, ANTI_AFFINITY_REQUIRED, a);
}

/* As upstream, any label change of a node that has a term's topology key. */
static bool
node_hint(void *self, const struct pod_view *pod, const struct object *a, const struct object *b)
{
    static const enum affinity_kind kinds[] = {AFFINITY_REQUIRED, ANTI_AFFINITY_REQUIRED};
    struct affinity_term term;

    (void)self, (void)a;
    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
        for (unsigned i = 0; affinity_term_at(pod, kinds[k], i, &term); i++)
            if (string_map_find(&b->meta->labels, term.term->topology_key) != NULL)
                return true;
    return false;
}

/* When a pod goes, upstream looks only at the waiting pod's own terms, so a pod
 * that was kept away by the terms of the deleted pod stays unschedulable until
 * the periodic flush. Here such a pod is activated. A pod with terms of its own
 * is always activated: its hint must not depend on its labels, because
 * interpod_sign_hints leaves them out.
 */
static bool
welcome_hint(void *self, const struct pod_view *pod, const struct object *a, const struct object *b)
{
    const struct interpod *me = self;
    const struct string_map *ns = namespace_labels_or_none(me->handle, pod);
    CLEANUP(pod_view_unrefp)
    struct pod_view *gone = pod_view_new(a, me->handle->resources);
    struct affinity_term term;

    (void)b;
    if (has_terms(pod))
        return true;
    if (!interpod_concerns(me, gone, pod))
        return false;
    for (unsigned i = 0; affinity_term_at(gone, ANTI_AFFINITY_REQUIRED, i, &term); i++)
        if (affinity_term_matches(&term, pod, ns))
            return true;
    return false;
}

/* A pod without terms shares no hints: it was rejected by the terms of other
 * pods, which depend on its labels.
 */
bool
interpod_sign_hints(void *self, const struct pod_view *pod, struct strbuf *out)
{
    struct affinity_term term;

    (void)self;
    if (!has_terms(pod))
        return false;
    strbuf_add_text(out, pod->namespace);
    for (unsigned i = 0; affinity_term_at(pod, AFFINITY_REQUIRED, i, &term); i++)
        affinity_term_sign(&term, out);
    strbuf_add_text(out, "\nnot");
    for (unsigned i = 0; affinity_term_at(pod, ANTI_AFFINITY_REQUIRED, i, &term); i++)
        affinity_term_sign(&term, out);
    return true;
}

const struct wake interpod_wakes[INTERPOD_WAKES] = {
    {EVENT_POD, ACTION_ADD | ACTION_DELETE | ACTION_UPDATE_POD_LABEL, pod_hint},
    {EVENT_ANTI_AFFINITY, ACTION_DELETE, welcome_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, node_hint},
    WAKE_NEW_NODES,
};
