/* SPDX-License-Identifier: Apache-2.0 */
/* task_layout.h - the nodes of a job and how many tasks each has, for the job's own
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

struct task_layout {
    const char *list;   /* "n[1-4]" */
    const char **names; /* in the order of the ranks */
    size_t count;       /* 0: they are not known */
    size_t own;         /* the index of this node */
    int64_t most;       /* tasks of the first node */
    int64_t total;      /* of all nodes */
};

/* `list`: of the PodGroup; NULL: the pod has only the node `own`. */
void task_layout_init(struct task_layout *nodes, struct arena *arena, const struct object *pod,
                      const char *list, const char *own);

/* So many on each node. */
void task_layout_set_tasks(struct task_layout *nodes, int64_t each);

/* Of the node with that index, and of all nodes before it. */
int64_t task_layout_tasks(const struct task_layout *nodes, size_t index);
int64_t task_layout_tasks_before(const struct task_layout *nodes, size_t index);

/* "3(x2),2" */
void task_layout_format_tasks(const struct task_layout *nodes, struct strbuf *out);

/* Lines of "n1 slots=3", as Open MPI and others read them; of "n1:3", as MPICH
 * does.
 */
void task_layout_format_hostfile(const struct task_layout *nodes, struct strbuf *out);
void task_layout_format_machines(const struct task_layout *nodes, struct strbuf *out);
