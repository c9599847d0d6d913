/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_volume.h - a volume of storage: how it is reached, and to which
 * claim it is bound
 *
 * A volume that an agent made is scratch space of its node: its name is "pvc-"
 * and the uid of the claim that it was made for; its label kiln.hpc/node names
 * the node.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"
#include "lib/api/object/object_reference.h"
#include "lib/api/value/selector.h"

struct object;

struct persistent_volume_spec {
    struct string_map capacity;
    LIST_OF(const char *) access_modes;
    const char *reclaim_policy; /* Delete, Retain, Recycle */
    const char *storage_class;
    const char *volume_mode;
    const struct object_reference *claim;
    const struct node_selector *nodes; /* nodeAffinity.required */
    const char *local_path;            /* of a local volume, or NULL */
};

struct persistent_volume_status {
    const char *phase; /* Pending, Available, Bound, Released, Failed */
    const char *reason;
    const char *message;
};

struct persistent_volume {
    struct meta meta;
    struct persistent_volume_spec spec;
    struct persistent_volume_status status;
};

extern const struct record persistent_volume_record;

const struct persistent_volume *persistent_volume_of(const struct object *object);

enum persistent_volume_index {
    PERSISTENT_VOLUME_BY_NODE, /* node whose agent made it; "": no agent */
};

/* The storage class, "" for none; the size in bytes. */
const char *persistent_volume_class(const struct persistent_volume *v);
int64_t persistent_volume_bytes(const struct persistent_volume *v);
bool persistent_volume_is_in_phase(const struct persistent_volume *v, const char *phase);

/* The node whose agent made the volume; NULL: the volume is not scratch space.
 */
const char *persistent_volume_scratch_node(const struct persistent_volume *v);

/* Whether a node with these labels and this name can reach the volume. */
bool persistent_volume_reaches(const struct persistent_volume *v, const struct string_map *labels,
                               const char *node_name);

#define LABEL_VOLUME_NODE         "kiln.hpc/node"
#define ANNOTATION_PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define ANNOTATION_BOUND_BY       "pv.kubernetes.io/bound-by-controller"

/* Stays until the agent has removed the data from the disk. */
#define FINALIZER_SCRATCH "kiln.hpc/node-local"

/* Adds the mistakes in the access modes of a volume's or claim's spec. */
struct causes;
struct json;
void access_modes_check(struct causes *c, const struct json *spec);
