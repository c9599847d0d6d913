/* SPDX-License-Identifier: Apache-2.0 */
/* job_table_nodes.h - the nodes of a job of several pods at a time, for its row
 * in a table
 *
 * They are those of its pods. If pods of a job that has ended were deleted, they
 * are those that its PodGroup has recorded.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stddef.h>

struct job;
struct pod;
struct table_row;

/* Zero it. Borrows the names from the pods. */
struct job_table_nodes {
    const char **names;
    size_t count, capacity;
};

void job_table_nodes_add(struct job_table_nodes *nodes, const struct job *job,
                         const struct pod *pod);

/* The short form, each once: "n[1-3]", in the arena of the job's row; NULL:
 * none are known. Count: how many they are. Frees the list.
 */
const char *job_table_nodes_take(struct job_table_nodes *nodes, const struct table_row *row,
                                 size_t *ret_count);
