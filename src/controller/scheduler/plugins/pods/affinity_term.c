/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/pods/affinity_term.h"

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/node/selector_sign.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

static bool
is_empty(const struct label_selector *s)
{
    return s->match_labels.count == 0 && s->match_expressions.count == 0;
}

/* As in upstream, a selector that is empty means all namespaces, and one that is absent
 * none; without selector and names it is the namespace of the pod that has the term.
 */
static bool
means_namespace(const struct affinity_term *t, const char *namespace,
                const struct string_map *labels)
{
    const struct pod_affinity_term *term = t->term;

    for (unsigned i = 0; i < term->namespaces.count; i++)
        if (strcmp(term->namespaces.items[i], namespace) == 0)
            return true;
    if (term->namespace_selector == NULL)
        return term->namespaces.count == 0 && strcmp(t->own_namespace, namespace) == 0;
    return is_empty(term->namespace_selector)
           || (labels != NULL && label_selector_matches(term->namespace_selector, labels));
}

bool
affinity_term_matches(const struct affinity_term *t, const struct pod_view *pod,
                      const struct string_map *namespace_labels)
{
    return means_namespace(t, pod->namespace, namespace_labels)
           && label_selector_matches(t->term->label_selector, &pod->pod->meta.labels);
}

bool
affinity_term_matches_all(const struct affinity_term *terms, unsigned count,
                          const struct pod_view *pod, const struct string_map *namespace_labels)
{
    for (unsigned i = 0; i < count; i++)
        if (!affinity_term_matches(&terms[i], pod, namespace_labels))
            return false;
    return count > 0;
}

const struct string_map *
namespace_labels(const struct handle *handle, const struct pod_view *pod)
{
    const struct object *namespace =
        handle->find != NULL ? handle->find(handle->owner, "Namespace", pod->namespace) : NULL;

    return namespace != NULL ? &namespace->meta->labels : NULL;
}

const struct string_map *
namespace_labels_or_none(const struct handle *handle, const struct pod_view *pod)
{
    static const struct string_map none;
    const struct string_map *labels = namespace_labels(handle, pod);

    return labels != NULL ? labels : &none;
}

static const struct pod_affinity *
affinity_of(const struct pod_view *pod, enum affinity_kind kind)
{
    const struct affinity *a = pod->pod->spec.affinity;

    if (a == NULL)
        return NULL;
    return kind == AFFINITY_REQUIRED || kind == AFFINITY_PREFERRED ? a->pod_affinity
                                                                   : a->pod_anti_affinity;
}

bool
affinity_term_at(const struct pod_view *pod, enum affinity_kind kind, unsigned index,
                 struct affinity_term *ret_term)
{
    const struct pod_affinity *a = affinity_of(pod, kind);

    if (a == NULL)
        return false;
    ret_term->own_namespace = pod->namespace;
    if (kind == AFFINITY_REQUIRED || kind == ANTI_AFFINITY_REQUIRED) {
        if (index >= a->required.count)
            return false;
        ret_term->term = &a->required.items[index];
        ret_term->weight = 0;
        return true;
    }
    if (index >= a->preferred.count)
        return false;
    ret_term->term = &a->preferred.items[index].term;
    ret_term->weight = a->preferred.items[index].weight;
    return true;
}

struct affinity_term *
affinity_terms(const struct pod_view *pod, enum affinity_kind kind, unsigned *ret_count)
{
    struct affinity_term *terms, term;
    unsigned n = 0;

    while (affinity_term_at(pod, kind, n, &term))
        n++;
    *ret_count = n;
    if (n == 0)
        return NULL;
    terms = xnew_array(struct affinity_term, n);
    for (unsigned i = 0; i < n; i++)
        affinity_term_at(pod, kind, i, &terms[i]);
    return terms;
}

void
affinity_term_sign(const struct affinity_term *t, struct strbuf *out)
{
    strbuf_printf(out, "\n%lld %s ", (long long)t->weight, t->term->topology_key);
    for (unsigned i = 0; i < t->term->namespaces.count; i++)
        strbuf_printf(out, "%s,", t->term->namespaces.items[i]);
    label_selector_sign(t->term->namespace_selector, out);
    label_selector_sign(t->term->label_selector, out);
}
