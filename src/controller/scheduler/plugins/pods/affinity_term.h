/* SPDX-License-Identifier: Apache-2.0 */
/* affinity_term.h - a term of pod affinity, with the namespaces that it covers
 *
 * A term covers the namespaces that it names, and those whose labels its
 * selector matches; with neither, the namespace of its own pod.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, framework.AffinityTerm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct handle;
struct pod_affinity_term;
struct pod_view;
struct strbuf;
struct string_map;

struct affinity_term {
    const struct pod_affinity_term *term;
    const char *own_namespace;
    int64_t weight; /* of a preferred term */
};

/* Whether the term matches the pod. `namespace_labels`: those of the pod's
 * namespace; NULL when the namespace is unknown.
 */
bool affinity_term_matches(const struct affinity_term *t, const struct pod_view *pod,
                           const struct string_map *namespace_labels);
bool affinity_term_matches_all(const struct affinity_term *terms, unsigned count,
                               const struct pod_view *pod,
                               const struct string_map *namespace_labels);

/* Appends text that is equal for terms that match the same pods. */
void affinity_term_sign(const struct affinity_term *t, struct strbuf *out);

/* The labels of the pod's namespace. When the namespace is unknown: NULL, so
 * that no selector but the empty one covers it, as upstream for the pod's own
 * terms; or, in the second function, an empty map, so that "DoesNotExist"
 * matches, as upstream for other pods' terms about this pod.
 */
const struct string_map *namespace_labels(const struct handle *handle, const struct pod_view *pod);
const struct string_map *namespace_labels_or_none(const struct handle *handle,
                                                  const struct pod_view *pod);

/* The terms of a pod, in its order; none: NULL and 0. Free with free(). */
enum affinity_kind {
    AFFINITY_REQUIRED,
    ANTI_AFFINITY_REQUIRED,
    AFFINITY_PREFERRED,
    ANTI_AFFINITY_PREFERRED,
};
#define AFFINITY_KINDS 4
struct affinity_term *affinity_terms(const struct pod_view *pod, enum affinity_kind kind,
                                     unsigned *ret_count);

/* One term by its index, without allocating; false: there is no such term. */
bool affinity_term_at(const struct pod_view *pod, enum affinity_kind kind, unsigned index,
                      struct affinity_term *ret_term);
