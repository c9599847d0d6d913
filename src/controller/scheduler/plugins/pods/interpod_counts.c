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
    struct interpod_counts *c = xnew(struct interpod_counts);

    c->counts = map_new();
    return c;
}

void
interpod_counts_free(struct interpod_counts *c)
{
    size_t at = 0;
    void *value;

    if (c == NULL)
        return;
    while (map_next(c->counts, &at, NULL, &value))
        free(value);
    map_free(c->counts);
    free(c);
}

struct interpod_counts *
interpod_counts_dup(const struct interpod_counts *c)
{
    struct interpod_counts *copy = interpod_counts_new();
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(c->counts, &at, &key, &value))
        map_put(copy->counts, key, xmemdup(value, sizeof(int64_t)));
    copy->n_not_zero = c->n_not_zero;
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
interpod_counts_add_pair(struct interpod_counts *c, const char *label, const char *value,
                         int64_t by)
{
    char pair[PAIR_SIZE];
    int64_t *count, before;

    pair_of(label, value, pair);
    count = map_find(c->counts, pair);
    if (count == NULL) {
        count = xnew(int64_t);
        map_put(c->counts, pair, count);
    }
    before = *count;
    *count += by;
    c->n_not_zero += (*count != 0) - (before != 0);
}

void
interpod_counts_add(struct interpod_counts *c, const struct string_map *labels, const char *label,
                    int64_t by)
{
    const char *value = string_map_find(labels, label);

    if (value != NULL)
        interpod_counts_add_pair(c, label, value, by);
}

int64_t
interpod_counts_get(const struct interpod_counts *c, const char *label, const char *value)
{
    char pair[PAIR_SIZE];
    const int64_t *count = map_find(c->counts, pair_of(label, value, pair));

    return count != NULL ? *count : 0;
}

bool
interpod_counts_is_empty(const struct interpod_counts *c)
{
    return c->n_not_zero == 0;
}
