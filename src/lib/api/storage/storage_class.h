/* SPDX-License-Identifier: Apache-2.0 */
/* storage_class.h - a class of storage: who provisions its volumes, and when
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"

struct object;

struct topology_requirement {
    const char *key;
    LIST_OF(const char *) values;
};

struct topology_term {
    LIST_OF(struct topology_requirement) labels;
};

struct storage_class {
    struct meta meta;
    const char *provisioner;
    const char *reclaim_policy;
    const char *volume_binding_mode; /* Immediate, WaitForFirstConsumer */
    LIST_OF(struct topology_term) allowed_topologies;
};

extern const struct record storage_class_record;

const struct storage_class *storage_class_of(const struct object *object);

enum storage_class_index {
    STORAGE_CLASS_BY_DEFAULT, /* "default": classes marked as default */
};

/* waits: volumes are bound only when a pod that uses them has a node. */
bool storage_class_waits(const struct storage_class *class);
bool storage_class_provisions(const struct storage_class *class);
bool storage_class_is_scratch(const struct storage_class *class);

/* Whether a volume may be provisioned for nodes with these labels. */
bool storage_class_allows(const struct storage_class *class, const struct string_map *labels);

/* The provisioner of the agents, and the one that stands for no provisioner. */
#define PROVISIONER_SCRATCH "kiln.hpc/node-local"
#define PROVISIONER_NONE    "kubernetes.io/no-provisioner"

/* The storage class that every new cluster has. */
#define STORAGE_CLASS_SCRATCH "node-local"
