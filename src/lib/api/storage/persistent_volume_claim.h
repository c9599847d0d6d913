/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_volume_claim.h - a request for storage, and the volume that it got
 *
 * kiln.hpc/uid and kiln.hpc/gid give the owner of the volume that is made for
 * the claim.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"
#include "lib/api/value/selector.h"

struct object;

struct persistent_volume_claim_spec {
    LIST_OF(const char *) access_modes;
    struct string_map requests;
    const char *volume_name;
    const char *storage_class; /* NULL: not given; "": none */
    const char *volume_mode;
    const struct label_selector *selector;
};

struct persistent_volume_claim_status {
    const char *phase; /* Pending, Bound, Lost */
};

struct persistent_volume_claim {
    struct meta meta;
    struct persistent_volume_claim_spec spec;
    struct persistent_volume_claim_status status;
};

extern const struct record persistent_volume_claim_record;
extern const struct record persistent_volume_claim_template_record;

const struct persistent_volume_claim *persistent_volume_claim_of(const struct object *object);

/* The storage class, "" for none; the requested bytes. */
const char *persistent_volume_claim_class(const struct persistent_volume_claim *c);
int64_t persistent_volume_claim_bytes(const struct persistent_volume_claim *c);

/* Whether claim and volume are bound to each other for good. */
bool persistent_volume_claim_is_bound(const struct persistent_volume_claim *c);

/* The node that a scheduler chose for the claim, or NULL. */
const char *persistent_volume_claim_node(const struct persistent_volume_claim *c);

#define ANNOTATION_STORAGE_CLASS  "volume.beta.kubernetes.io/storage-class"
#define ANNOTATION_SELECTED_NODE  "volume.kubernetes.io/selected-node"
#define ANNOTATION_PROVISIONER    "volume.kubernetes.io/storage-provisioner"
#define ANNOTATION_BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define ANNOTATION_GID            "kiln.hpc/gid"

/* Annotations by which the scheduler and the controllers communicate, and the
 * one that names the volume's owner: users may not write them. NULL-terminated.
 */
extern const char *const claim_system_annotations[];

/* Whether a user created the claim, directly or by a pod; otherwise an
 * administrator created it for whoever may use it.
 */
bool claim_is_user_owned(const struct object *claim);
