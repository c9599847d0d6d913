/* SPDX-License-Identifier: Apache-2.0 */
/* index_set.h - a set of a Job's indexes, stored as ranges
 *
 * A million indexes that finished in order are one range, so the cost of a set
 * depends on how scattered it is. Plain data: all zero is the empty set.
 *
 * Owns:       its ranges.
 * Thread:     any; plain data.
 * Invariant:  ranges ascend, and there is a gap between any two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

struct index_range { /* both ends are included */
    int64_t first, last;
};

struct index_set {
    struct index_range *ranges;
    size_t count;
    size_t room;
    int64_t total; /* number of indexes in the set */
};

/* Life */
void index_set_fini(struct index_set *set);

/* Indexes are not negative. */
void index_set_add(struct index_set *set, int64_t index);
void index_set_add_range(struct index_set *set, int64_t first, int64_t last);
void index_set_remove(struct index_set *set, int64_t index);

bool index_set_has(const struct index_set *set, int64_t index);
int64_t index_set_count(const struct index_set *set);

/* Returns the number of indexes below `end`; its cost depends on the ranges above. */
int64_t index_set_count_below(const struct index_set *set, int64_t end);

/* Returns the number of indexes in both sets. */
int64_t index_set_count_common(const struct index_set *a, const struct index_set *b);

/* Returns the smallest index >= from that is not in the set. */
int64_t index_set_gap(const struct index_set *set, int64_t from);

/* Returns the smallest index >= from that is in the set; INT64_MAX: none. */
int64_t index_set_next(const struct index_set *set, int64_t from);

/* Text in the form of upstream's status.completedIndexes, "0-2,5,7,8", with the
 * indexes below `end`. Parse adds to the set; false: the text is malformed from
 * some point on, and the indexes before that point have been added.
 */
void index_set_format(const struct index_set *set, int64_t end, struct strbuf *out);
bool index_set_parse(struct index_set *set, const char *text);
