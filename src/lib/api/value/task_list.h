/* SPDX-License-Identifier: Apache-2.0 */
/* task_list.h - the ids of an array's tasks as people write them:
 * "0-99", "1-1000:7", "3,5,9-12"
 *
 * A list is a set: its ids ascend, whatever the order in the text, and none is
 * there twice. The n-th id is that of the element with the index n, from 0. A
 * million ids in one range cost as much as one.
 *
 * Invariant:  ranges ascend, and the next one begins behind the last id of the
 *             one before; equal sets have equal ranges.
 * Thread:     any; pure functions.
 * See:        task_sets.h, what is in two lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct strbuf;

#define TASK_ID_MOST INT64_C(4000000000)

/* The most ranges of one list, so that no text makes much work. */
#define TASK_LIST_RANGES_MOST 10000

struct task_range {
    int64_t first, last; /* both are in it */
    int64_t step;        /* 1 where first is last */
    int64_t before;      /* ids of all ranges before this one */
};

struct task_list {
    const struct task_range *ranges; /* in the arena */
    size_t count;                    /* of ranges */
    int64_t total;                   /* of ids */
};

/* The empty text is the empty list; ids that are named twice count once.
 * -EINVAL with words: it is no such list, an id is above TASK_ID_MOST, or it is
 * of too many ranges. How many ids there may be is the caller's to say.
 */
int task_list_parse(struct arena *arena,
                    const char *text,
                    struct task_list *ret_list,
                    struct error *err);

/* Sorted ranges that do not reach into each other as a list; for task_sets.
 * -EINVAL: too many of them.
 */
int task_list_of_ranges(struct arena *arena,
                        const struct task_range *ranges,
                        size_t count,
                        struct task_list *ret_list,
                        struct error *err);

/* Between ids and indexes. An index is from 0 to total - 1; -1 for an id that
 * is not in the list.
 */
int64_t task_list_at(const struct task_list *list, int64_t index);
int64_t task_list_index(const struct task_list *list, int64_t id);

/* Appends the shortest text of these kinds of ranges. */
void task_list_format(const struct task_list *list, struct strbuf *out);
