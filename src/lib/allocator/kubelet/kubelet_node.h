/* SPDX-License-Identifier: Apache-2.0 */
/* kubelet_node.h - one node under the kubelet's managers: pods are admitted
 * whole or refused, and removed
 *
 * Devices are allocated first, then CPUs, then memory. A refused pod returns
 * what it got, in the kubelet's way: memory from the lowest node up.
 *
 * Owns:       nothing; borrows the layout. The pods record their allocations.
 * Thread:     one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/allocator/kubelet/cpu_manager.h"
#include "lib/allocator/kubelet/device_manager.h"
#include "lib/allocator/kubelet/memory_manager.h"
#include "lib/allocator/kubelet/numa_hint.h"

#define KUBELET_DEVICES 8u

enum kubelet_scope {
    SCOPE_CONTAINER,
    SCOPE_POD,
};

struct kubelet_node {
    struct cpu_manager cpus;
    struct memory_manager memory;
    struct device_manager devices;
    struct hint_merge merge;
    enum kubelet_scope scope;
};

struct kubelet_container {
    bool is_init;
    bool is_restartable; /* a sidecar */
    int64_t cpu_milli;
    struct memory_request memory;
    struct {
        unsigned resource, count;
    } devices[KUBELET_DEVICES];
    unsigned n_devices;

    /* The resources that were allocated. */
    struct numa_hint hint;
    struct bitset cpus; /* empty: the shared pool */
    struct memory_block blocks[MEMORY_TYPES];
    unsigned n_blocks;
    struct bitset got_devices;
};

struct kubelet_pod {
    bool is_guaranteed;
    struct kubelet_container *containers; /* init containers first */
    unsigned count;
};

enum kubelet_reason {
    KUBELET_ADMITTED,
    KUBELET_TOPOLOGY_AFFINITY,
    KUBELET_SMT_ALIGNMENT,
    KUBELET_UNEXPECTED,
};

/* `ret_detail` is set for the last two reasons, such as "not-enough-cpus". */
enum kubelet_reason kubelet_node_admit(struct kubelet_node *n, struct kubelet_pod *pod,
                                       const char **ret_detail);
void kubelet_node_remove(struct kubelet_node *n, const struct kubelet_pod *pod);

const char *memory_answer_name(enum memory_answer answer);
