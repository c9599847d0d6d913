/* SPDX-License-Identifier: Apache-2.0 */
/* node_status.h - this node as the API sees it: labels, capacity, conditions
 *
 * Pure: from what was discovered and configured to the Node's JSON.
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
    uint64_t reserved_memory_bytes; /* already left out of the topology */
    const char *address;            /* as peers reach it, or NULL */
    const char *const *labels;      /* "key=value" */
    size_t n_labels;
    int64_t max_pods;
    bool has_hooks;           /* a prolog or an epilog */
    const char *hook_failure; /* of one of them; NULL: none has failed */
    const char *check_reason; /* of what self_check.h found; NULL: nothing */
    const char *check_words;
    const char *missing; /* of its hardware, in words; NULL: nothing */
    bool rootless;       /* runs one ordinary user's pods, without cgroups */
    bool can_limit_memory;
    bool can_limit_hugepages;
    bool can_bind_cpus; /* a cpuset controller, beside affinity */
    bool can_guard_devices;
    const char *devices_lacking; /* why not, or NULL */
    bool lends_cores;            /* of a pod that stands still, to others */
    uint32_t uid;                /* of a rootless agent */

    const char *scratch_dir; /* NULL: none is offered */
    int64_t scratch_bytes;
    bool has_scratch_quota;
};

/* The body of the create, status included; and the status alone, for the
 * updates of one that is there. Conditions carry `now_us` as heartbeat.
 */
struct json *node_status_body(struct arena *arena,
                              const struct node_facts *facts,
                              int64_t now_us);
struct json *node_status_status(struct arena *arena,
                                const struct node_facts *facts,
                                int64_t now_us);
