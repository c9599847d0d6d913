/* SPDX-License-Identifier: Apache-2.0 */
/* step_binding.h - the CPUs that each task of a step may run on, on one node
 *
 * Without a wish, each task has CPUs of its own, as many as the step gives to a task,
 * beside each other. A wider binding (cores, sockets, ldoms) adds the other CPUs
 * that the step has of the same core, socket or NUMA node. No binding ever leaves the
 * CPUs of the step.
 *
 * Thread:  any; pure. A parsed binding is borrowed from its arena.
 * Source:  srun(1) of Slurm 22.05, --cpu-bind.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/bitset.h"

struct arena;
struct error;
struct strbuf;
struct step_distribution;
struct topology;

enum step_binding_kind {
    STEP_BINDING_DEFAULT, /* and "threads" */
    STEP_BINDING_NONE,    /* all CPUs of the step */
    STEP_BINDING_CORES,
    STEP_BINDING_SOCKETS,
    STEP_BINDING_LDOMS, /* NUMA nodes */
    STEP_BINDING_RANK,  /* task N of the node: the step's CPU N */
    STEP_BINDING_RANK_LDOM,
    STEP_BINDING_LIST,      /* map_cpu, mask_cpu */
    STEP_BINDING_LIST_LDOM, /* map_ldom, mask_ldom */
};

struct step_binding {
    enum step_binding_kind kind;
    bool is_verbose;
    const struct bitset *sets; /* of the LISTs; task N has set N, modulo their number */
    unsigned n_sets;
    struct bitset named; /* the CPUs of all sets of LIST; else empty */
};

/* NULL: the default. -EINVAL, with the word that is wrong. */
int step_binding_parse(struct arena *arena, const char *text, struct step_binding *ret_binding,
                       struct error *err);

/* -ENOSPC: a CPU that the binding names is none of `cpus`. */
int step_binding_check(const struct step_binding *binding, const struct bitset *cpus,
                       struct error *err);

/* Sets sets[0] to sets[n_tasks - 1]. `cpus`: of the step on the node; cpus_per_task 0:
 * the tasks share them. `topology` NULL: every CPU is a core of one socket. -ENOSPC: a
 * NUMA node that the binding names has no CPU of the step.
 */
int step_binding_apply(const struct step_binding *binding,
                       const struct step_distribution *distribution,
                       const struct topology *topology, const struct bitset *cpus,
                       unsigned cpus_per_task, unsigned n_tasks, struct bitset *sets,
                       struct error *err);

/* Adds the mask as Slurm writes it: 0xF0. */
void step_binding_format_mask(const struct bitset *set, struct strbuf *out);
