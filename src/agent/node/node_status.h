/* SPDX-License-Identifier: Apache-2.0 */
/* node_status.h - this node as the API sees it: labels, capacity, conditions
 *
 * Turns what was discovered and configured into the Node's JSON.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct machine;
struct topology;

struct node_facts {
    const char *name;
    const struct machine *machine;
    const struct topology *topology;
    uint64_t reserved_memory_bytes; /* already subtracted in the topology */
    const char *address;            /* where peers reach the node, or NULL */
    unsigned step_port;             /* where they ask for tasks of a step; 0: nowhere */
    const char *step_socket;        /* the same on this machine, or NULL */
    const char *const *labels;      /* "key=value" */
    size_t n_labels;
    int64_t max_pods;
    bool has_hooks; /* a prolog or an epilog is configured */
    /* of a prolog or an epilog; NULL: none has failed */
    const char *hook_failure;
    /* of the failed self-check (self_check.h); NULL: none */
    const char *check_reason;
    const char *check_words;
    bool has_health_check; /* a health check is configured */
    bool is_health_known;
    const char *health_failure; /* NULL: the node is healthy */
    const char *missing;        /* missing hardware in words; NULL: none */
    bool rootless;              /* runs pods of one ordinary user, without cgroups */
    bool can_limit_memory;
    bool can_limit_hugepages;
    bool can_bind_cpus; /* by a cpuset controller, beside affinity */
    bool can_guard_devices;
    const char *devices_lacking; /* why devices cannot be guarded, or NULL */
    bool lends_cores;            /* a suspended pod's cores may be lent to others */
    uint32_t uid;                /* the user of a rootless agent */

    const char *scratch_dir; /* NULL: no scratch space is offered */
    int64_t scratch_bytes;
    bool has_scratch_quota;
};

/* node_status_body is the body of a create, status included; node_status_status
 * is the status alone, for updates of an existing Node. Conditions carry
 * `now_us` as heartbeat.
 */
struct json *node_status_body(struct arena *arena, const struct node_facts *facts, int64_t now_us);
struct json *node_status_status(struct arena *arena, const struct node_facts *facts,
                                int64_t now_us);
