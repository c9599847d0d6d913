/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - a machine that runs pods
 *
 * Kiln's additions are status.topology (topology.h holds it as a struct) and
 * status.remnants.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <sys/types.h>

#include "lib/api/node/allocation.h"
#include "lib/api/object/meta.h"

struct object;

struct taint {
    const char *key;
    const char *value;
    const char *effect; /* NoSchedule, PreferNoSchedule, NoExecute */
    int64_t added_at_us;
};

struct node_spec {
    bool unschedulable;
    LIST_OF(struct taint) taints;
};

struct node_condition {
    const char *type;   /* "Ready", ... */
    const char *status; /* "True", "False", "Unknown" */
    const char *reason;
    const char *message;
    int64_t last_heartbeat_at_us;
    int64_t last_transition_at_us;
};

struct node_info {
    const char *machine_id;
    const char *boot_id;
    const char *kernel_version;
    const char *os_image;
    const char *architecture;
    const char *container_runtime; /* containerRuntimeVersion on the wire */
    const char *agent_version;     /* kubeletVersion on the wire */
};

struct node_address {
    const char *type; /* "Hostname", "InternalIP" */
    const char *address;
};

struct node_image {
    LIST_OF(const char *) names;
    int64_t size_bytes;
};

/* The resources that a pod deleted by force still holds on its node. The API no
 * longer has the pod, but its process may still run, so the resources are not
 * free until the agent reports that they are.
 */
struct remnant {
    const char *namespace;
    const char *name;
    int64_t left_at_us;
    struct string_map requests; /* total requests of the pod */
    const struct allocation *allocation;
};

/* A directory of the node in which its agent creates volumes. */
struct node_scratch {
    const char *path;
    const char *capacity; /* a quantity, for all volumes together */
    const char *quota;    /* "project": volumes cannot grow; "none" */
};

struct node_status {
    struct string_map capacity; /* name to quantity */
    struct string_map allocatable;
    LIST_OF(struct node_condition) conditions;
    LIST_OF(struct node_address) addresses;
    struct node_info info;
    LIST_OF(struct node_image) images;
    const struct json *topology;        /* as received, or NULL */
    MAP_OF(struct remnant) remnants;    /* by uid of the pod */
    const struct node_scratch *scratch; /* NULL: the node offers none */
    LIST_OF(const char *) agent_features;
};

struct node {
    struct meta meta;
    struct node_spec spec;
    struct node_status status;
};

extern const struct record node_record;

const struct node *node_of(const struct object *object);

enum node_index {
    NODE_BY_NAME,    /* lets each agent watch its own node cheaply */
    NODE_BY_RELEASE, /* NODE_FORMER: the agent lacks a feature */
};

const struct node_condition *node_find_condition(const struct node *node, const char *type);
bool node_is_ready(const struct node *node);
const struct remnant *node_find_remnant(const struct node *node, const char *pod_uid);

/* Condition: a site's prolog or epilog has failed on the node. */
#define NODE_HOOK_FAILED "HookFailed"

/* Condition: the node's agent cannot start pods. */
#define NODE_CHECK_FAILED "SelfCheckFailed"

/* Condition: the site's health check has failed. It is Unknown until the first check has
 * ended.
 */
#define NODE_HEALTH_CHECK_FAILED "HealthCheckFailed"

/* The uids of orphaned processes that an administrator wants killed (kctl
 * orphans).
 */
#define ANNOTATION_END_ORPHANS "kiln.hpc/end-orphans"

/* Condition: the node has less hardware than expected (node_hardware.h). */
#define NODE_HARDWARE_MISSING "HardwareMissing"

/* Whether the node is fenced: an administrator declared that nothing runs there
 * (kctl fence).
 */
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
bool node_is_fenced(const struct node *node);

/* Whether the node is a user's own (of a rootless agent): it runs only pods of
 * that uid. Admission has written it.
 */
bool node_find_owner(const struct node *node, uid_t *ret_uid);

/* Whether the node's agent announced the feature: accepting a changed time
 * limit for a running pod, suspending pods, running others on their cores,
 * running a pod's checkpoint command, or sending signals to a pod on request.
 */
#define NODE_FORMER                "former"
#define NODE_FEATURE_CHANGED_LIMIT "ChangedLimit"
#define NODE_FEATURE_FREEZE        "Freeze" /* suspends pods */
#define NODE_FEATURE_YIELD         "Yield"  /* and runs others on their cores */
#define NODE_FEATURE_CHECKPOINT    "Checkpoint"
#define NODE_FEATURE_SIGNAL        "Signal"     /* sends a user's signals */
#define NODE_FEATURE_STEP_SIGNAL   "StepSignal" /* also to a step */
bool node_has_feature(const struct node *node, const char *name);

/* The capacity of the node's scratch directory; 0: the node has none. */
int64_t node_scratch_bytes(const struct node *node);
