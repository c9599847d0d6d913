/* SPDX-License-Identifier: Apache-2.0 */
/* pod_group.h - pods that are placed together, at least so many or none: kind
 * PodGroup
 *
 * A pod names its group in spec.schedulingGroup. The group need not exist when
 * the pod is made: the pod waits for it. A group and its pods have the same
 * owner; a group of another user is none for a pod.
 *
 * Thread:  any; plain data.
 * Source:  k8s.io/api scheduling/v1beta1, Kubernetes 1.37.
 */
#pragma once

#include "lib/api/object/meta.h"
#include "lib/api/pod/group_scheduling.h"

struct arena;
struct object;

struct pod_group_spec {
    struct group_policy policy;
    bool one_per_node;                   /* no two of its pods have one node at a time */
    const struct switch_limit *switches; /* or NULL */
};

struct pod_group_state {
    const char *nodes;     /* of its pods, in the order of their ranks; or NULL */
    int64_t started_at_us; /* when all of them ran; 0: not yet */
};

struct pod_group {
    struct meta meta;
    struct pod_group_spec spec;
    struct pod_group_state status;
};

extern const struct record pod_group_record;

/* The group that a pod names; NULL: none. */
const char *pod_group_named_by(const struct object *pod);

/* Whether the pod counts as placed: it has a node, or has succeeded. A pod that
 * has failed is to be replaced; one that is being deleted has its node until it
 * is gone.
 */
bool pod_group_counts(const struct object *pod);

/* A pod of a group that has a node. Its rank is the index that its Job gave it, or
 * -1.
 */
struct group_member {
    int64_t rank;
    const char *node;
};

struct strbuf;

struct group_member pod_group_member(const struct object *pod);

/* Sorts them by rank, then by the name of the node, and adds the short form of
 * the names, each once.
 */
void pod_group_format_nodes(struct group_member *members, size_t count, struct strbuf *out);

/* "n[1-4]"; NULL: not known yet, or not for such a group. */
const char *pod_group_nodes(const struct object *object);
int64_t pod_group_started_us(const struct object *object);

/* How many pods must be placed together; 1 or less: each by itself. */
int64_t pod_group_least(const struct object *object);
/* NULL: the nodes may have any number of switches. */
const struct switch_limit *pod_group_switches(const struct object *object);
bool pod_group_is_one_per_node(const struct object *object);
bool pod_group_ends_together(const struct object *object); /* disruptionMode all */

/* The label of nodes whose value all nodes of its pods share; NULL: it names none. */
const char *pod_group_topology_key(const struct object *object, struct arena *arena);

/* The condition that at least that many had a node at one time; it never goes
 * back.
 */
#define POD_GROUP_SCHEDULED "PodGroupInitiallyScheduled"
