/* SPDX-License-Identifier: Apache-2.0 */
/* job_query.h - asks the server for the rows of kctl jobs
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/kctl/input/job_selection.h"

struct arena;
struct error;
struct id_ranges;
struct job_list;
struct kctl;

struct job_query {
    struct job_selection selection;
    const char *label_selector;
    const struct id_ranges *ids; /* named jobs; NULL: the selection */
    int64_t ended_since_us;      /* 0: all known jobs */
    size_t limit;                /* of rows, the last ones; 0: none */
    bool is_mine;
    bool is_of_last; /* of the ended jobs only the last ten */
};

/* Whether only states of jobs that have not ended are selected. */
bool job_query_is_of_active(const struct job_query *query);

/* Adds the rows in their order. -ENOENT: a job that was named by its id does
 * not exist; of a range, none does.
 */
int job_query_fetch(struct kctl *kctl, const struct job_query *query, bool wants_objects,
                    struct arena *arena, struct job_list *list, struct error *err);
