/* SPDX-License-Identifier: Apache-2.0 */
/* job_nodes.h - the nodes of a job and how many tasks each has, for the job's own
 * programs
 *
 * The pods of a job of several nodes are equal. If the tasks cannot be divided
 * equally, the first nodes have one more than the others.
 *
 * Thread:  any; pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;
struct object;
struct strbuf;

struct job_nodes {
    const char *list;   /* "n[1-4]" */
    const char **names; /* in the order of the ranks */
    size_t count;       /* 0: they are not known */
    size_t own;         /* the index of this node */
    int64_t most;       /* tasks of the first node */
    int64_t total;      /* of all nodes */
};

/* `list`: of the PodGroup; NULL: the pod has only the node `own`. */
void job_nodes_init(struct job_nodes *nodes, struct arena *arena, const struct object *pod,
                    const char *list, const char *own);

/* So many on each node. */
void job_nodes_set_tasks(struct job_nodes *nodes, int64_t each);

/* Of the node with that index, and of all nodes before it. */
int64_t job_nodes_tasks(const struct job_nodes *nodes, size_t index);
int64_t job_nodes_tasks_before(const struct job_nodes *nodes, size_t index);

/* "3(x2),2" */
void job_nodes_format_tasks(const struct job_nodes *nodes, struct strbuf *out);

/* Lines of "n1 slots=3", as Open MPI and others read them. */
void job_nodes_format_hostfile(const struct job_nodes *nodes, struct strbuf *out);
