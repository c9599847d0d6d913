/* SPDX-License-Identifier: Apache-2.0 */
/* step_layout.h - which node has which tasks of a step, and which CPUs they take
 *
 * The step manager asks with all nodes of the job and what other steps have of them;
 * the answer is the same for everybody who asks with the same. Tasks are numbered
 * from 0 over all nodes (their ranks).
 *
 * CPUs of a task, if the request has no number: one for an exact step; otherwise
 * what a task of the job has, which is the job's number or the CPUs of the job
 * divided by its tasks; or less if so many tasks would not fit then. So a step of one
 * task in a job of one task has all its CPUs, and steps of one task each run side by
 * side in a job of several.
 *
 * A step that overlaps holds nothing: its CPUs are not busy for others.
 *
 * Thread:  any; pure.
 * Source:  the order of tasks is that of Slurm's dist_tasks.c.
 */
#pragma once

#include <stdint.h>

#include "lib/base/bitset.h"

struct arena;
struct error;
struct step_request;
struct strbuf;

/* A node of the job, in the order of its ranks. */
struct step_place {
    const char *name;
    struct bitset cpus, busy; /* of the pod; of these, the ones that steps hold */
    const uint16_t *order;    /* its CPUs, neighbours beside each other; NULL: by number */
    unsigned gpus;            /* of the pod */
    struct bitset busy_gpus;  /* by their place among the pod's GPUs */
    int64_t memory_bytes;     /* of the pod; 0: without a limit */
    int64_t busy_memory_bytes;
};

struct step_layout_node {
    unsigned place; /* index among the places */
    const char *name;
    unsigned n_tasks;
    unsigned *tasks; /* their ranks, ascending */
    struct bitset cpus, gpus;
};

struct step_layout {
    unsigned n_tasks, n_nodes;
    unsigned cpus_per_task; /* 0: the tasks share the node's CPUs */
    struct step_layout_node *nodes;
};

/* 0; -EBUSY: other steps have what this one needs; -ENOSPC, with Slurm's words:
 * the job is too small for it; -EINVAL: the request contradicts itself or the job.
 */
int step_layout_make(struct arena *arena, const struct step_request *request,
                     const struct step_place *places, unsigned n_places,
                     struct step_layout *ret_layout, struct error *err);

/* Add "n[1-2]", and "4(x2),1". */
void step_layout_format_nodes(const struct step_layout *layout, struct strbuf *out);
void step_layout_format_tasks(const struct step_layout *layout, struct strbuf *out);
