/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"

/* The amounts that are summed. */
enum side { REQUESTS, LIMITS };

struct summing {
    enum side side;
    const struct pod_sums_defaults *defaults; /* or NULL */
};

void
pod_sums_fini(struct pod_sums *s)
{
    free(s->items);
    *s = (struct pod_sums){0};
}

static struct pod_sum *
find(const struct pod_sums *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].name, name) == 0)
            return &s->items[i];
    return NULL;
}

const struct pod_sum *
pod_sums_find(const struct pod_sums *s, const char *name)
{
    return find(s, name);
}

static struct pod_sum *
sum_of(struct pod_sums *s, const char *name)
{
    struct pod_sum *found = find(s, name);

    if (found != NULL)
        return found;
    xgrow(s->items, s->count, s->capacity);
    s->items[s->count] = (struct pod_sum){.name = name};
    return &s->items[s->count++];
}

static void
add_each(struct pod_sums *to, const struct pod_sums *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        quantity_add(&sum_of(to, from->items[i].name)->amount, &from->items[i].amount);
}

static void
raise_each(struct pod_sums *to, const struct pod_sums *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct pod_sum *sum = sum_of(to, from->items[i].name);

        if (quantity_compare(&from->items[i].amount, &sum->amount) > 0)
            sum->amount = from->items[i].amount;
    }
}

static void
add_map(struct pod_sums *to, const struct string_map *map)
{
    for (unsigned i = 0; i < map->count; i++) {
        struct quantity q;

        if (quantity_parse(map->items[i].value, &q) == 0)
            quantity_add(&sum_of(to, map->items[i].key)->amount, &q);
    }
}

static void
add_container(struct pod_sums *to, const struct container *c, const struct summing *how)
{
    const struct pod_sums_defaults *d = how->defaults;
    const struct string_map *amounts =
        how->side == REQUESTS ? &c->resources.requests : &c->resources.limits;

    add_map(to, amounts);
    if (d == NULL)
        return;
    if (string_map_find(amounts, "cpu") == NULL)
        sum_of(to, "cpu")->amount.nano += (__int128)d->cpu_milli * 1000000;
    if (string_map_find(amounts, "memory") == NULL)
        sum_of(to, "memory")->amount.nano += (__int128)d->memory_bytes * 1000000000;
}

static bool
is_sidecar(const struct container *c)
{
    return c->restart_policy != NULL && strcmp(c->restart_policy, "Always") == 0;
}

/* Init containers run one after another, beside the sidecars that were started
 * before them; the pod needs the maximum over time.
 */
static void
add_containers(struct pod_sums *total, const struct pod_spec *spec, const struct summing *how)
{
    struct pod_sums sidecars = {0}, peak = {0};

    for (unsigned i = 0; i < spec->containers.count; i++)
        add_container(total, &spec->containers.items[i], how);
    for (unsigned i = 0; i < spec->init_containers.count; i++) {
        const struct container *c = &spec->init_containers.items[i];
        struct pod_sums moment = {0};

        if (is_sidecar(c)) {
            add_container(total, c, how);
            add_container(&sidecars, c, how);
            raise_each(&peak, &sidecars);
            continue;
        }
        add_container(&moment, c, how);
        add_each(&moment, &sidecars);
        raise_each(&peak, &moment);
        pod_sums_fini(&moment);
    }
    raise_each(total, &peak);
    pod_sums_fini(&sidecars);
    pod_sums_fini(&peak);
}

void
pod_sums_add_requests(struct pod_sums *s, const struct pod_spec *spec,
                      const struct pod_sums_defaults *defaults)
{
    add_containers(s, spec, &(struct summing){.side = REQUESTS, .defaults = defaults});
    add_map(s, &spec->overhead);
}

/* The overhead is added only to resources that have a limit. */
void
pod_sums_add_limits(struct pod_sums *s, const struct pod_spec *spec)
{
    add_containers(s, spec, &(struct summing){.side = LIMITS});
    for (unsigned i = 0; i < spec->overhead.count; i++) {
        struct pod_sum *sum = find(s, spec->overhead.items[i].key);
        struct quantity q;

        if (sum != NULL && quantity_sign(&sum->amount) != 0
            && quantity_parse(spec->overhead.items[i].value, &q) == 0)
            quantity_add(&sum->amount, &q);
    }
}

int64_t
pod_sum_value(const struct pod_sum *sum)
{
    return sum != NULL ? quantity_value(&sum->amount) : 0;
}

int64_t
pod_sum_milli(const struct pod_sum *sum)
{
    return sum != NULL ? quantity_milli_value(&sum->amount) : 0;
}
