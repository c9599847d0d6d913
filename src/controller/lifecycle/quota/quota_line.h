/* SPDX-License-Identifier: Apache-2.0 */
/* quota_line.h - the Jobs that wait for room in one quota, in order
 *
 * A Job of a higher priority goes first, then the one that could have started
 * first, then the one with the lower id. That is the scheduler's order of jobs
 * (SubmissionOrder; doc/decisions.md, 560).
 *
 * A balanced tree, in which each subtree has its size and the least that its
 * Jobs need of each resource. So a place is found in O(log n), and the first Job
 * that fits into free room without a look at those that do not.
 *
 * Called by:  quota_waiters.c.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Resources of a quota by which room is measured. The API server decides; a
 * Job that fits by these may still be refused.
 */
#define QUOTA_LINE_RESOURCES 6

struct quota_line;

struct quota_place {
    int64_t priority;
    int64_t eligible_at_us;
    int64_t job_id;
    char *key;
    int64_t needs[QUOTA_LINE_RESOURCES]; /* in thousandths; 0: nothing */
    /* Private. */
    struct quota_place *left, *right;
    uint64_t weight;
    size_t size;
    int64_t least[QUOTA_LINE_RESOURCES];
};

/* Life. The line does not own the places. */
void quota_line_free(struct quota_line *line);
struct quota_line *quota_line_new(void) OWNED_BY(quota_line_free);

/* Neither order nor needs of a place change while it is in the line. */
void quota_line_add(struct quota_line *line, struct quota_place *place);
void quota_line_remove(struct quota_line *line, struct quota_place *place);

size_t quota_line_count(const struct quota_line *line);

/* Returns the first place that needs no more than the room, or NULL. */
struct quota_place *quota_line_find_first(const struct quota_line *line,
                                          const int64_t room[QUOTA_LINE_RESOURCES]);

/* Returns how many are before the place, whether or not it is in the line itself. */
size_t quota_line_rank(const struct quota_line *line, const struct quota_place *place);
