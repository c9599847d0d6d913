/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/pods/interpod_counts.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/json/record.h"

struct interpod_counts {
    struct map *counts; /* "label\nvalue" to int64_t */
    size_t n_not_zero;
};

struct interpod_counts *
interpod_counts_new(void)
{
    struct interpod_counts *t = xnew(struct interpod_counts);

    t->counts = map_new();
    return t;
}

void
interpod_counts_free(struct interpod_counts *t)
{
    size_t at = 0;
    void *value;

    if (t == NULL)
        return;
    while (map_next(t->counts, &at, NULL, &value))
        free(value);
    map_free(t->counts);
    free(t);
}

struct interpod_counts *
interpod_counts_dup(const struct interpod_counts *t)
{
    struct interpod_counts *copy = interpod_counts_new();
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(t->counts, &at, &key, &value))
        map_put(copy->counts, key, xmemdup(value, sizeof(int64_t)));
    copy->n_not_zero = t->n_not_zero;
    return copy;
}

/* A label's name has at most 317 characters, its value 63. */
#define PAIR_SIZE 512

static const char *
pair_of(const char *label, const char *value, char out[PAIR_SIZE])
{
    snprintf(out, PAIR_SIZE, "%s\n%s", label, value);
    return out;
}

void
interpod_counts_add_pair(struct interpod_counts *t, const char *label, const char *value,
                         int64_t by)
{
    char pair[PAIR_SIZE];
    int64_t *count, before;

    pair_of(label, value, pair);
    count = map_find(t->counts, pair);
    if (count == NULL) {
        count = xnew(int64_t);
        map_put(t->counts, pair, count);
    }
    before = *count;
    *count += by;
    t->n_not_zero += (*count != 0) - (before != 0);
}

void
interpod_counts_add(struct interpod_counts *t, const struct string_map *labels, const char *label,
                    int64_t by)
{
    const char *value = string_map_find(labels, label);

    if (value != NULL)
        interpod_counts_add_pair(t, label, value, by);
}

int64_t
interpod_counts_get(const struct interpod_counts *t, const char *label, const char *value)
{
    char pair[PAIR_SIZE];
    const int64_t *count = map_find(t->counts, pair_of(label, value, pair));

    return count != NULL ? *count : 0;
}

bool
interpod_counts_is_empty(const struct interpod_counts *t)
{
    return t->n_not_zero == 0;
}
