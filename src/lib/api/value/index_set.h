/* SPDX-License-Identifier: Apache-2.0 */
/* index_set.h - a set of a Job's indexes, as the ranges that they make
 *
 * A million indexes that are done in order are one range, so what a set costs
 * is how scattered it is. Plain data: zeroed is empty.
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

struct index_range { /* both ends belong to it */
    int64_t first, last;
};

struct index_set {
    struct index_range *ranges;
    size_t count;
    size_t room;
    int64_t total; /* indexes in them */
};

/* Life */
void index_set_fini(struct index_set *set);

/* Change. Indexes are not negative. */
void index_set_add(struct index_set *set, int64_t index);
void index_set_add_range(struct index_set *set, int64_t first, int64_t last);
void index_set_remove(struct index_set *set, int64_t index);

/* Look. Gap: the smallest that is >= from and not in the set; next: and in it,
 * INT64_MAX if there is none. Below: how many
 * are less than that; what it costs is what is above. Common: in both sets.
 */
bool index_set_has(const struct index_set *set, int64_t index);
int64_t index_set_count(const struct index_set *set);
int64_t index_set_count_below(const struct index_set *set, int64_t end);
int64_t index_set_count_common(const struct index_set *a,
                               const struct index_set *b);
int64_t index_set_gap(const struct index_set *set, int64_t from);
int64_t index_set_next(const struct index_set *set, int64_t from);

/* Text, as upstream's status.completedIndexes: "0-2,5,7,8", of those below
 * `end`. Parse adds, and is false, with what came before added, where the text
 * is not such a list.
 */
void
index_set_format(const struct index_set *set, int64_t end, struct strbuf *out);
bool index_set_parse(struct index_set *set, const char *text);
