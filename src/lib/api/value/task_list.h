/* SPDX-License-Identifier: Apache-2.0 */
/* task_list.h - the ids of an array's tasks as people write them:
 * "0-99", "1-1000:7", "3,5,9-12"
 *
 * A list is a set: its ids ascend, whatever their order in the text, and no id
 * occurs twice. The n-th id belongs to the element with index n, from 0. A
 * million ids in one range cost as much as one id.
 *
 * Invariant:  ranges ascend, and each begins after the last id of the one
 *             before; equal sets have equal ranges.
 * Thread:     any; pure functions.
 * See:        task_sets.h for operations on two lists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct strbuf;

#define TASK_ID_MOST INT64_C(4000000000)

/* The maximum number of ranges in one list, which bounds the work per text. */
#define TASK_LIST_RANGES_MOST 10000

struct task_range {
    int64_t first, last; /* both are included */
    int64_t step;        /* 1 if first equals last */
    int64_t before;      /* number of ids in all earlier ranges */
};

struct task_list {
    const struct task_range *ranges; /* in the arena */
    size_t count;                    /* number of ranges */
    int64_t total;                   /* number of ids */
};

/* The empty text is the empty list; an id that occurs twice counts once.
 * -EINVAL with the reason: the text is malformed, an id is above TASK_ID_MOST,
 * or there are too many ranges. The caller limits the number of ids.
 */
int task_list_parse(struct arena *arena, const char *text, struct task_list *ret_list,
                    struct error *err);

/* Makes a list of sorted ranges that do not overlap; for task_sets. -EINVAL:
 * there are too many.
 */
int task_list_of_ranges(struct arena *arena, const struct task_range *ranges, size_t count,
                        struct task_list *ret_list, struct error *err);

/* Conversion between ids and indexes. An index is from 0 to total - 1; -1 for
 * an id that is not in the list.
 */
int64_t task_list_at(const struct task_list *list, int64_t index);
int64_t task_list_index(const struct task_list *list, int64_t id);

/* Appends the shortest text for the list's ranges. */
void task_list_format(const struct task_list *list, struct strbuf *out);
